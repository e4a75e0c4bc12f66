"""Every response names its request; every request leaves one line in the log."""

from __future__ import annotations

import time
from collections.abc import Callable

import structlog
from django.http import HttpRequest
from django.http.response import HttpResponseBase

from octostore.lib.ids import mint_request_id

HEADER = "X-Request-Id"
UNMATCHED = "unmatched"

log = structlog.get_logger("octostore.access")


class RequestIdMiddleware:
    """The outermost middleware, so that preflights, static files and refusals carry the id too."""

    def __init__(self, get_response: Callable[[HttpRequest], HttpResponseBase]) -> None:
        self.get_response = get_response

    def __call__(self, request: HttpRequest) -> HttpResponseBase:
        began = time.perf_counter()
        identifier = request_id_of(request)
        with structlog.contextvars.bound_contextvars(request_id=identifier):
            response = self.get_response(request)
            response[HEADER] = identifier
            log.info(
                "request",
                method=request.method,
                route=route_of(request),
                status=response.status_code,
                milliseconds=round((time.perf_counter() - began) * 1000, 2),
            )
        return response


def request_id_of(request: HttpRequest) -> str:
    """The request's id, made on the first call. What the client sends as one is never believed."""
    identifier: str | None = getattr(request, "request_id", None)
    if identifier is None:
        identifier = request.request_id = mint_request_id()  # type: ignore[attr-defined]
    return identifier


def route_of(request: HttpRequest) -> str:
    """The pattern that matched, never the path: a path holds what the client wrote into it."""
    return f"/{request.resolver_match.route}" if request.resolver_match else UNMATCHED
