"""Preflights of browsers, without what an answer of no body has no use for."""

from __future__ import annotations

from corsheaders import middleware
from django.http import HttpRequest
from django.http.response import HttpResponseBase


class CorsMiddleware(middleware.CorsMiddleware):
    def check_preflight(self, request: HttpRequest) -> HttpResponseBase | None:
        """The answer to a preflight, without a content type; None for any other request."""
        response = super().check_preflight(request)
        if response is not None:
            del response["Content-Type"]
        return response
