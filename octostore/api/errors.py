"""One error language: whatever goes wrong, in a view or outside of one, is answered by the same envelope."""

from __future__ import annotations

import sys
from collections.abc import Mapping
from typing import Any

import msgspec
import structlog
from django.core.exceptions import BadRequest, PermissionDenied, RequestDataTooBig, SuspiciousOperation
from django.db import InterfaceError, OperationalError
from django.http import Http404, HttpRequest, HttpResponse
from rest_framework import exceptions as drf
from rest_framework.request import Request

from octostore.api.request_id import request_id_of, route_of
from octostore.lib import errors

log = structlog.get_logger("octostore.errors")


def exception_handler(exc: Exception, context: Mapping[str, Any]) -> HttpResponse:
    """DRF's hook: the answer to anything a view raised."""
    request: HttpRequest = context["request"]._request
    error = as_domain_error(exc)
    if error.answer_status == 405:
        error.details = f"this address answers {', '.join(context['view'].allowed_methods)}"
    return respond(request, error, exc)


def handler400(request: HttpRequest, exception: Exception) -> HttpResponse:
    return respond(request, as_domain_error(exception), exception)


def handler403(request: HttpRequest, exception: Exception) -> HttpResponse:
    return respond(request, errors.Forbidden(), exception)


def handler404(request: HttpRequest, exception: Exception) -> HttpResponse:
    return respond(request, errors.NotFound(), exception)


def handler500(request: HttpRequest) -> HttpResponse:
    exception = sys.exception()
    return respond(request, as_domain_error(exception), exception)


def respond(
    request: HttpRequest | Request, error: errors.DomainError, cause: BaseException | None = None
) -> HttpResponse:
    """`error` as an answer; one that is our own fault is written to the log with its cause's traceback."""
    if error.answer_status >= 500:
        write = log.error if error.answer_status == 500 else log.warning
        write(error.code, route=route_of(request), exc_info=cause)
    response = HttpResponse(
        msgspec.json.encode(envelope(error, request_id_of(request))),
        content_type="application/json",
        status=error.answer_status,
        headers={"Cache-Control": "no-store", **error.headers},
    )
    if error.retry_after_ms is not None:
        response["Retry-After"] = str(-(-error.retry_after_ms // 1000))
    if error.answer_status == 401:
        response["WWW-Authenticate"] = "Bearer"
    return response


def envelope(error: errors.DomainError, request_id: str) -> dict[str, Any]:
    """The contract's error object: what clients act on is `code`."""
    body: dict[str, Any] = {"error": error.text, "code": error.code}
    if error.details:
        body["details"] = error.details
    body["request_id"] = request_id
    if error.retry_after_ms is not None:
        body["retry_after_ms"] = error.retry_after_ms
    return body | error.extra


def as_domain_error(exception: BaseException | None) -> errors.DomainError:
    """What the API says to an exception, ours or a framework's; anything unforeseen is a bug of ours."""
    match exception:
        case errors.DomainError():
            return exception
        case OperationalError() | InterfaceError():
            return errors.Unavailable()
        case Http404() | drf.NotFound():
            return errors.NotFound()
        case drf.NotAuthenticated():
            return errors.AuthenticationRequired()
        case drf.AuthenticationFailed():
            return errors.AuthenticationFailed()
        case PermissionDenied() | drf.PermissionDenied():
            return errors.Forbidden()
        case drf.Throttled():
            return errors.RateLimited(retry_after_ms=1000)
        case drf.MethodNotAllowed() | drf.UnsupportedMediaType():
            return errors.InvalidInput(status=exception.status_code)
        case RequestDataTooBig():
            return errors.InvalidInput("body is too large", status=413)
        case SuspiciousOperation() | BadRequest() | drf.ParseError() | drf.NotAcceptable() | drf.ValidationError():
            return errors.InvalidInput()
        case _:
            return errors.InternalError()
