"""The endpoints of the service itself: is it up, can it work, what does it count, how is it called."""

from __future__ import annotations

import msgspec
from django.http import HttpResponse
from django.template.loader import render_to_string
from drf_spectacular.renderers import OpenApiYamlRenderer
from rest_framework.request import Request

from octostore import __version__
from octostore.api import service_docs as docs
from octostore.api.counters import counters
from octostore.api.door import Reply, respond
from octostore.api.errors import respond as refuse
from octostore.api.metrics import CONTENT_TYPE, exposition
from octostore.api.metrics_access import require_reader
from octostore.api.readiness import examine
from octostore.api.schema import openapi
from octostore.api.views import JsonView
from octostore.lib.errors import Unavailable

# Swagger UI sets style attributes on what it draws and shows its icons as data.
CONTENT_SECURITY_POLICY = (
    "default-src 'none'; script-src 'self'; style-src 'self' 'unsafe-inline'; img-src 'self' data:; "
    "connect-src 'self'; base-uri 'none'; form-action 'none'; frame-ancestors 'none'"
)


class RootView(JsonView):
    @docs.root
    def get(self, request: Request) -> HttpResponse:
        return respond(Reply(shape=docs.Links()))


class HealthView(JsonView):
    @docs.health
    def get(self, request: Request) -> HttpResponse:
        return respond(Reply(shape=docs.Health(version=__version__)))


class ReadyView(JsonView):
    @docs.ready
    def get(self, request: Request) -> HttpResponse:
        readiness = examine()
        if readiness.status == "ready":
            return respond(Reply(shape=readiness))
        error = Unavailable("the database cannot be used yet")
        error.extra = msgspec.to_builtins(readiness)
        return refuse(request, error)


class StatusView(JsonView):
    @docs.status
    def get(self, request: Request) -> HttpResponse:
        return respond(Reply(shape=counters()))


class MetricsView(JsonView):
    @docs.metrics
    def get(self, request: Request) -> HttpResponse:
        require_reader(request)
        return HttpResponse(exposition(), content_type=CONTENT_TYPE)


class OpenApiJsonView(JsonView):
    @docs.openapi_json
    def get(self, request: Request) -> HttpResponse:
        return HttpResponse(msgspec.json.format(msgspec.json.encode(openapi())), content_type="application/json")


class OpenApiYamlView(JsonView):
    @docs.openapi_yaml
    def get(self, request: Request) -> HttpResponse:
        text = OpenApiYamlRenderer().render(openapi())  # type: ignore[no-untyped-call]
        return HttpResponse(text, content_type="application/yaml")


class DocsView(JsonView):
    @docs.interactive
    def get(self, request: Request) -> HttpResponse:
        page = render_to_string("api/docs.html")
        return HttpResponse(page, headers={"Content-Security-Policy": CONTENT_SECURITY_POLICY})
