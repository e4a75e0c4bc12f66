"use strict";

const place = document.getElementById("swagger-ui");

SwaggerUIBundle({
  domNode: place,
  url: place.dataset.document,
  deepLinking: true,
  // The default would ask a public service to judge the document.
  validatorUrl: null,
  tryItOutEnabled: true,
});
