"""What goes wrong on a page is told by a page; everywhere else the API's envelope answers."""

from __future__ import annotations

import sys
from typing import Any

import structlog
from django.http import HttpRequest, HttpResponse
from django.template.loader import render_to_string

from octostore.api import errors as api
from octostore.api.request_id import request_id_of, route_of
from octostore.lib.errors import DomainError, Forbidden, NotFound
from octostore.pages.display import display
from octostore.pages.middleware import is_page

log = structlog.get_logger("octostore.errors")


def handler400(request: HttpRequest, exception: Exception) -> HttpResponse:
    return _answer(request, api.as_domain_error(exception), exception)


def handler403(request: HttpRequest, exception: Exception) -> HttpResponse:
    return _answer(request, Forbidden(), exception)


def handler404(request: HttpRequest, exception: Exception) -> HttpResponse:
    return _answer(request, NotFound(), exception)


def handler500(request: HttpRequest) -> HttpResponse:
    exception = sys.exception()
    return _answer(request, api.as_domain_error(exception), exception)


def csrf_failure(request: HttpRequest, reason: str = "") -> HttpResponse:
    """Django's hook for a form that did not come from one of our pages, or came too late."""
    return page(request, Forbidden("This form has expired, or was not sent from here. Go back and send it again."))


def page(request: HttpRequest, error: DomainError) -> HttpResponse:
    """`error` in words, without a query: it may be the database that is down."""
    context: dict[str, Any] = {
        "error": error,
        "request_id": request_id_of(request),
        "request": request,
        **display(request),
    }
    return HttpResponse(render_to_string("pages/error.html", context), status=error.answer_status)


def _answer(request: HttpRequest, error: DomainError, cause: BaseException | None) -> HttpResponse:
    if not is_page(request):
        return api.respond(request, error, cause)
    if error.answer_status >= 500:
        log.error(error.code, route=route_of(request), exc_info=cause)
    return page(request, error)
