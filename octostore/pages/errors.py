"""What goes wrong on a page is told by a page; everywhere else the API's envelope answers."""

from __future__ import annotations

import sys
from typing import Any

import structlog
from django.contrib.auth.views import redirect_to_login
from django.http import HttpRequest, HttpResponse, HttpResponseNotAllowed
from django.http.response import HttpResponseBase
from django.template.loader import render_to_string

from octostore.api import errors as api
from octostore.api.request_id import request_id_of, route_of
from octostore.lib.errors import AuthenticationRequired, DomainError, Forbidden, InvalidInput, NotFound, RateLimited
from octostore.pages.display import display
from octostore.pages.fragments import asks_for_part
from octostore.pages.middleware import GetResponse, is_page

log = structlog.get_logger("octostore.errors")


class DomainErrorMiddleware:
    """Tells by a page what a page's view raised, or that it takes no such method.

    Who must sign in first is sent there, and comes back after.
    """

    def __init__(self, get_response: GetResponse) -> None:
        self.get_response = get_response

    def __call__(self, request: HttpRequest) -> HttpResponseBase:
        response = self.get_response(request)
        if isinstance(response, HttpResponseNotAllowed):
            told = page(request, InvalidInput(_not_here(request, response["Allow"]), status=405))
            response.content, response["Content-Type"] = told.content, told["Content-Type"]
        return response

    def process_exception(self, request: HttpRequest, exception: Exception) -> HttpResponse | None:
        if not isinstance(exception, DomainError):
            return None
        if (
            isinstance(exception, AuthenticationRequired)
            and request.accepts("text/html")
            and not asks_for_part(request)
        ):
            return redirect_to_login(request.get_full_path())
        return _answer(request, exception, exception)


def handler400(request: HttpRequest, exception: Exception) -> HttpResponse:
    return _answer(request, api.as_domain_error(exception), exception)


def handler403(request: HttpRequest, exception: Exception) -> HttpResponse:
    return _answer(request, Forbidden(), exception)


def handler404(request: HttpRequest, exception: Exception) -> HttpResponse:
    return _answer(request, NotFound(), exception)


def handler429(request: HttpRequest) -> HttpResponse:
    """allauth's hook for who tries too often; its limits are per minute."""
    return page(request, RateLimited(retry_after_ms=60_000))


def handler500(request: HttpRequest) -> HttpResponse:
    exception = sys.exception()
    return _answer(request, api.as_domain_error(exception), exception)


def csrf_failure(request: HttpRequest, reason: str = "") -> HttpResponse:
    """Django's hook for a form that did not come from one of our pages, or came too late."""
    return page(request, Forbidden("This form has expired, or was not sent from here. Go back and send it again."))


def page(
    request: HttpRequest, error: DomainError, *, template: str = "pages/error.html", **more: object
) -> HttpResponse:
    """`error` in words, without a query: it may be the database that is down. `more` is for a `template` of its own."""
    context: dict[str, Any] = {
        "error": error,
        "request_id": request_id_of(request),
        "request": request,
        "retry_after": -(-(error.retry_after_ms or 0) // 1000),
        **display(request),
        **more,
    }
    response = HttpResponse(render_to_string(template, context), status=error.answer_status)
    if error.retry_after_ms is not None:
        response["Retry-After"] = str(context["retry_after"])
    return response


def _not_here(request: HttpRequest, allowed: str) -> str:
    is_looking = request.method in {"GET", "HEAD"}
    return "Forms are sent to this address: there is nothing to look at." if is_looking else f"It answers {allowed}."


def _answer(request: HttpRequest, error: DomainError, cause: BaseException | None) -> HttpResponse:
    if not is_page(request):
        return api.respond(request, error, cause)
    if error.answer_status >= 500:
        log.error(error.code, route=route_of(request), exc_info=cause)
    return page(request, error)
