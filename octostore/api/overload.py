"""A request the server in front has no time for is told so at once."""

from __future__ import annotations

from collections.abc import Callable

from django.http import HttpRequest
from django.http.response import HttpResponseBase

from octostore.api.errors import respond
from octostore.lib.errors import Unavailable

# By the environment's `octostore.refusal`: no thread was free in time; the process ends before the request did.
DETAILS = {
    "overloaded": "the server is busy; nothing was done",
    "stopping": "the server stops; what was asked may or may not have been done",
}


class OverloadMiddleware:
    """Answers 503 instead of calling the view; touches no storage."""

    def __init__(self, get_response: Callable[[HttpRequest], HttpResponseBase]) -> None:
        self.get_response = get_response

    def __call__(self, request: HttpRequest) -> HttpResponseBase:
        details = DETAILS.get(request.META.get("octostore.refusal", ""))
        if details:
            return respond(request, Unavailable(details))
        return self.get_response(request)
