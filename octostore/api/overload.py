"""A request that would wait longer than it may is told so at once."""

from __future__ import annotations

from collections.abc import Callable

from django.http import HttpRequest
from django.http.response import HttpResponseBase

from octostore.api.errors import respond
from octostore.lib.errors import Unavailable


class OverloadMiddleware:
    """Answers 503 where the server in front found no free thread in time (`octostore.refusal` is `overloaded`)."""

    def __init__(self, get_response: Callable[[HttpRequest], HttpResponseBase]) -> None:
        self.get_response = get_response

    def __call__(self, request: HttpRequest) -> HttpResponseBase:
        if request.META.get("octostore.refusal") == "overloaded":
            return respond(request, Unavailable("the server is busy; nothing was done"))
        return self.get_response(request)
