"""Django's WSGI handler, to which no header that a client can write is fatal."""

from __future__ import annotations

from typing import Any

import django
from django.core.handlers.wsgi import WSGIHandler, WSGIRequest


class Request(WSGIRequest):
    """Django reads the content type before anything could answer for what it raises."""

    def _set_content_type_params(self, meta: dict[str, Any]) -> None:
        try:
            super()._set_content_type_params(meta)  # type: ignore[misc]
        except ValueError:
            # A charset nobody knows (RFC 2231). Who reads the body refuses the header as it stands in META.
            self.content_type, self.content_params = "", {}


class Handler(WSGIHandler):
    request_class = Request


def get_application() -> Handler:
    """The application a WSGI server runs."""
    django.setup(set_prefix=False)
    return Handler()
