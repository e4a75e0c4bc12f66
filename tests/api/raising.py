"""Addresses that fail in every way there is, in a DRF view and outside of one."""

from __future__ import annotations

from collections.abc import Callable

from django.core.exceptions import BadRequest, PermissionDenied, RequestDataTooBig, SuspiciousOperation
from django.db import DataError, InterfaceError, OperationalError
from django.http import Http404, HttpRequest, HttpResponse
from django.urls import path
from rest_framework import exceptions as drf
from rest_framework.request import Request

from octostore.api.views import JsonView
from octostore.lib import errors

CANARY = "hush-7f3a"

# What is raised: the status and the code it must become.
CASES: dict[str, tuple[Callable[[], Exception], int, str]] = {
    "authentication_required": (errors.AuthenticationRequired, 401, "authentication_required"),
    "authentication_failed": (errors.AuthenticationFailed, 401, "authentication_failed"),
    "forbidden": (lambda: errors.Forbidden("elections are switched off"), 403, "forbidden"),
    "invalid": (lambda: errors.InvalidInput("ttl_seconds must be an integer", status=422), 422, "invalid_input"),
    "invalid_ttl": (errors.InvalidTTL, 400, "invalid_ttl"),
    "invalid_lock_name": (errors.InvalidLockName, 400, "invalid_lock_name"),
    "not_found": (errors.NotFound, 404, "not_found"),
    "session_expired": (errors.SessionExpired, 410, "session_expired"),
    "lock_limit": (errors.LockLimitExceeded, 403, "lock_limit_exceeded"),
    "lock_delayed": (lambda: errors.LockDelayed(retry_after_ms=1201), 409, "lock_delayed"),
    "not_current": (lambda: errors.LeaseNotCurrent(ended="expired"), 404, "lease_not_current"),
    "conflict": (errors.Conflict, 409, "conflict"),
    "capacity": (lambda: errors.CapacityExceeded(retry_after_ms=30_000), 409, "capacity_exceeded"),
    "limited": (lambda: errors.RateLimited(retry_after_ms=1201), 429, "rate_limited"),
    "unavailable": (errors.Unavailable, 503, "unavailable"),
    "http404": (lambda: Http404(CANARY), 404, "not_found"),
    "permission": (lambda: PermissionDenied(CANARY), 403, "forbidden"),
    "suspicious": (lambda: SuspiciousOperation(CANARY), 400, "invalid_input"),
    "bad_request": (lambda: BadRequest(CANARY), 400, "invalid_input"),
    "too_big": (lambda: RequestDataTooBig(CANARY), 413, "invalid_input"),
    "drf_not_found": (lambda: drf.NotFound(CANARY), 404, "not_found"),
    "drf_permission": (lambda: drf.PermissionDenied(CANARY), 403, "forbidden"),
    "drf_parse": (lambda: drf.ParseError(CANARY), 400, "invalid_input"),
    "drf_media": (lambda: drf.UnsupportedMediaType(CANARY), 415, "invalid_input"),
    "drf_accept": (lambda: drf.NotAcceptable(CANARY), 400, "invalid_input"),
    "drf_validation": (lambda: drf.ValidationError(CANARY), 400, "invalid_input"),
    "drf_throttled": (lambda: drf.Throttled(wait=7), 429, "rate_limited"),
    "drf_not_authenticated": (lambda: drf.NotAuthenticated(CANARY), 401, "authentication_required"),
    "drf_failed": (lambda: drf.AuthenticationFailed(CANARY), 401, "authentication_failed"),
    "operational": (lambda: OperationalError(CANARY), 503, "unavailable"),
    "interface": (lambda: InterfaceError(CANARY), 503, "unavailable"),
    "data": (lambda: DataError(CANARY), 500, "internal_error"),
    "bug": (lambda: ZeroDivisionError(CANARY), 500, "internal_error"),
}


class RaisingView(JsonView):
    def get(self, request: Request, case: str) -> HttpResponse:
        raise CASES[case][0]()


def raising(request: HttpRequest, case: str) -> HttpResponse:
    raise CASES[case][0]()


urlpatterns = [path("view/<str:case>", RaisingView.as_view()), path("outside/<str:case>", raising)]

handler400 = "octostore.api.errors.handler400"
handler403 = "octostore.api.errors.handler403"
handler404 = "octostore.api.errors.handler404"
handler500 = "octostore.api.errors.handler500"
