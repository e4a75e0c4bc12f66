"""Sessions, sign-in, CSRF and messages, for pages alone: the API's requests pass by them."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, cast

from django.conf import settings
from django.core.handlers.exception import convert_exception_to_response
from django.http import HttpRequest
from django.http.response import HttpResponseBase
from django.utils.module_loading import import_string

GetResponse = Callable[[HttpRequest], HttpResponseBase]

# Where pages live; everything else is the API's.
PREFIXES = ("/accounts/", "/staff/", "/r/", "/t/", "/ops/", "/start/")
# The last three are what people type of those above, who are led on.
SINGLE = frozenset({"/display", "/keyboard", "/live", "/start", "/status.json", "/try", "/accounts", "/ops", "/staff"})
# Where both do: who asks for HTML gets the page.
SHARED = frozenset({"/", "/status"})


class PagesMiddleware:
    """Runs `settings.PAGES_MIDDLEWARE`, in order, around requests for pages."""

    def __init__(self, get_response: GetResponse) -> None:
        self.get_response = self._chain = get_response
        self._members: list[Any] = []
        for path in reversed(settings.PAGES_MIDDLEWARE):
            member = import_string(path)(self._chain)
            self._members.insert(0, member)
            self._chain = cast(GetResponse, convert_exception_to_response(member))

    def __call__(self, request: HttpRequest) -> HttpResponseBase:
        if not is_page(request):
            return self.get_response(request)
        if settings.HTTPS:
            # Whatever the last hop was, people came by HTTPS: so judge CSRF, and so write links.
            request.META["wsgi.url_scheme"] = "https"
        return self._chain(request)

    def process_view(self, request: HttpRequest, *view: Any) -> HttpResponseBase | None:
        return self._first(request, "process_view", self._members, *view)

    def process_exception(self, request: HttpRequest, exception: Exception) -> HttpResponseBase | None:
        return self._first(request, "process_exception", reversed(self._members), exception)

    def _first(self, request: HttpRequest, hook: str, members: Any, *arguments: Any) -> HttpResponseBase | None:
        if is_page(request):
            for member in members:
                answer: HttpResponseBase | None = getattr(member, hook, _nothing)(request, *arguments)
                if answer is not None:
                    return answer
        return None


def is_page(request: HttpRequest) -> bool:
    path = request.path_info
    return path.startswith(PREFIXES) or path in SINGLE or (path in SHARED and asks_for_html(request))


def asks_for_html(request: HttpRequest) -> bool:
    """Whether a browser is reading: HTML is wanted more than JSON. curl, which takes anything, gets JSON."""
    return request.method in {"GET", "HEAD"} and request.get_preferred_type(["application/json", "text/html"]) == (
        "text/html"
    )


def _nothing(*_: Any) -> None:
    """A middleware without the hook."""
