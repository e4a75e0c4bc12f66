"""Every response names its request, and is what it says it is; every request leaves one line in the log."""

from __future__ import annotations

import time
from collections.abc import Callable

import structlog
from django.http import HttpRequest
from django.http.response import HttpResponseBase

from octostore.lib.ids import mint_request_id
from octostore.live.tickets import is_parked

HEADER = "X-Request-Id"
KEY = "octostore.request_id"
UNMATCHED = "unmatched"

log = structlog.get_logger("octostore.access")


class RequestIdMiddleware:
    """The outermost middleware, so that preflights, static files and refusals carry the id too.

    A request that is parked leaves its line when it is answered.
    """

    def __init__(self, get_response: Callable[[HttpRequest], HttpResponseBase]) -> None:
        self.get_response = get_response

    def __call__(self, request: HttpRequest) -> HttpResponseBase:
        received_at = request.META.get("octostore.received_at") or time.monotonic()
        identifier = request_id_of(request)
        with structlog.contextvars.bound_contextvars(request_id=identifier):
            response = self.get_response(request)
            response[HEADER] = identifier
            response.headers.setdefault("X-Content-Type-Options", "nosniff")
            if is_parked(response):
                return response
            waited = time.monotonic() - received_at
            log_request(request.method or "", route_of(request), response.status_code, waited)
        return response


def log_request(method: str, route: str, status: int, seconds: float) -> None:
    """The one line a request leaves; `route` is a pattern, `seconds` its whole time since it was received."""
    log.info("request", method=method, route=route, status=status, milliseconds=round(seconds * 1000, 2))


def request_id_of(request: HttpRequest) -> str:
    """The request's id, made on the first call. What the client sends as one is never believed."""
    # Kept where a request finds it again that was parked and enters once more.
    identifier: str | None = request.META.get(KEY)
    if identifier is None:
        identifier = request.META[KEY] = mint_request_id()
    return identifier


def route_of(request: HttpRequest) -> str:
    """The pattern that matched, never the path: a path holds what the client wrote into it."""
    return f"/{request.resolver_match.route}" if request.resolver_match else UNMATCHED
