"""What every page says to the browser about itself."""

from __future__ import annotations

from collections.abc import Callable

from django.http import HttpRequest
from django.http.response import HttpResponseBase
from django.utils.cache import patch_vary_headers

from octostore.live.tickets import TicketResponse

GetResponse = Callable[[HttpRequest], HttpResponseBase]

HEADERS = {
    "Content-Security-Policy": (
        "default-src 'none'; script-src 'self'; style-src 'self'; img-src 'self' data:; connect-src 'self'; "
        "form-action 'self'; base-uri 'none'; frame-ancestors 'none'"
    ),
    "X-Content-Type-Options": "nosniff",
    # With no-referrer browsers would send `Origin: null`, which no CSRF check can believe.
    "Referrer-Policy": "same-origin",
    "Cross-Origin-Opener-Policy": "same-origin",
    "Permissions-Policy": "camera=(), display-capture=(), geolocation=(), microphone=(), payment=(), usb=()",
    "Cache-Control": "private, no-store",
}
STRICT_TRANSPORT = "max-age=31536000; includeSubDomains"


class PageHeadersMiddleware:
    """Adds `HEADERS` to pages; an answer that has one of them keeps its own.

    What caches may do is said by `octostore.pages.fragments.cached` alone, and by a stream itself.
    """

    def __init__(self, get_response: GetResponse) -> None:
        self.get_response = get_response

    def __call__(self, request: HttpRequest) -> HttpResponseBase:
        response = self.get_response(request)
        for name, value in HEADERS.items():
            response.headers.setdefault(name, value)
        if not isinstance(response, TicketResponse):
            response["Cache-Control"] = getattr(response, "cache_policy", HEADERS["Cache-Control"])
        patch_vary_headers(response, ["Cookie"])
        return response


class StrictTransportMiddleware:
    """Tells browsers to come by HTTPS alone, on every answer; in use where the service is reached by HTTPS."""

    def __init__(self, get_response: GetResponse) -> None:
        self.get_response = get_response

    def __call__(self, request: HttpRequest) -> HttpResponseBase:
        response = self.get_response(request)
        response["Strict-Transport-Security"] = STRICT_TRANSPORT
        return response
