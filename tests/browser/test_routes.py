"""Whatever page there is, by the URLconf: readable for everybody, on every screen, and within its CSP."""

from __future__ import annotations

import re

import httpx
import pytest

from octostore.pages.headers import HEADERS
from tests.browser.accessibility import complaints
from tests.browser.addresses import address, routes
from tests.browser.conftest import OpenPage
from tests.browser.site import Site

pytestmark = pytest.mark.only("sqlite")

CSP = HEADERS["Content-Security-Policy"]
# The first of them who gets to see a page is the one for whom it is looked at; "" is nobody.
VISITORS = ("owner", "second", "")
# What answers nobody's GET with a page, by why it does not.
NO_PAGE = {
    "is for forms": "try|display|staff/logout/|.*/(test|redeliver|invite|renew|withdraw|role|export)",
    "is no HTML": r"status\.json|live|r/<str:election_id>\.<form:form>|.*/download/|staff/(jsi18n|autocomplete)/",
    "is a part of a page": ".*/(state|progress|figures)",
    "needs a query": "r/<str:election_id>/terms",
    "leads on": r"accounts|staff|ops/?|accounts/(social/.*|password/set/|3rdparty/signup/)"
    r"|staff/(login/|.*<path:object_id>/)",
    "does not exist here": r"staff/(?!.*quota/add).*/(add|delete)/|staff/\(.*|staff/r/.*|accounts/github/.*",
    "comes after a step": r"accounts/(login/code/confirm|reauthenticate/code/confirm|confirm-email"
    r"|password/reset/(confirm|complete)|2fa/authenticate)/",
}
_NO_PAGE = re.compile("|".join(NO_PAGE.values()))


def is_page(answer: httpx.Response) -> bool:
    return answer.status_code in {200, 401} and answer.text.lstrip().lower().startswith("<!doctype html")


def visitor_of(route: str, site: Site) -> tuple[str, httpx.Response]:
    for who in VISITORS:
        answer = site.get(address(route, site.scene), who)
        if is_page(answer):
            break
    return who, answer


@pytest.mark.parametrize("route", [route for route in routes() if not _NO_PAGE.fullmatch(route)])
def test_page_is_for_everybody(route: str, site: Site, open_page: OpenPage) -> None:
    who, answer = visitor_of(route, site)
    assert is_page(answer), f"{answer.url} is no page: say why in NO_PAGE"
    assert answer.headers["Content-Security-Policy"] == CSP
    page = open_page(who, expected=("status of 401",))
    page.goto(address(route, site.scene))
    found = complaints(page)
    assert not found, "\n".join(found)


@pytest.mark.parametrize("route", [route for route in routes() if _NO_PAGE.fullmatch(route)])
def test_what_is_said_to_be_no_page_is_none(route: str, site: Site) -> None:
    _, answer = visitor_of(route, site)
    assert not is_page(answer), f"{answer.url} is a page: take it out of NO_PAGE"
    if answer.headers.get("Content-Type", "").startswith("text/html"):
        assert answer.headers["Content-Security-Policy"] == CSP
