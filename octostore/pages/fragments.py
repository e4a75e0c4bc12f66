"""A page and the fragments of it that are got again: one view answers both, by the same template."""

from __future__ import annotations

from typing import Any

from django.http import HttpRequest, HttpResponse
from django.shortcuts import render
from django.utils.cache import patch_vary_headers
from django_htmx.middleware import HtmxDetails


def page_or_fragment(
    request: HttpRequest, page: str, fragment: str, context: dict[str, Any], *, status: int = 200
) -> HttpResponse:
    """`fragment` where htmx asks for part of the page, else `page`, which includes that very fragment."""
    response = render(request, fragment if asks_for_part(request) else page, context, status=status)
    patch_vary_headers(response, ["HX-Request"])
    return response


def asks_for_part(request: HttpRequest) -> bool:
    """Whether htmx asks, and not for a whole page."""
    htmx: HtmxDetails = request.htmx  # type: ignore[attr-defined]
    return bool(htmx) and htmx.request_type != "full"


def has(request: HttpRequest, version: str) -> bool:
    """Whether who asks for a fragment has this version of it already (`?have=`); then answer `unchanged()`."""
    return request.GET.get("have") == version


def unchanged() -> HttpResponse:
    """204: htmx leaves what it has."""
    response = HttpResponse(status=204)
    del response["Content-Type"]
    return response


def cached(response: HttpResponse, policy: str) -> HttpResponse:
    """The same response with another `Cache-Control` than that of all pages."""
    response.cache_policy = policy  # type: ignore[attr-defined]
    return response
