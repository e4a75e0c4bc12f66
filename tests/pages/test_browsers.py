"""What pages say to browsers, and that the API's requests pass by all that pages need."""

from __future__ import annotations

import re
from collections.abc import Callable
from typing import Any

import pytest
from django.db import connection
from django.test.utils import CaptureQueriesContext
from django.urls import URLPattern, URLResolver, get_resolver
from pytest_django.fixtures import Settings

from octostore.pages.headers import HEADERS, STRICT_TRANSPORT
from octostore.pages.middleware import PREFIXES
from octostore.teams.models import User
from tests.pages.browser import PASSWORD, Browser, somebody, text_of
from tests.processes import Web

POLICY = (
    "default-src 'none'; script-src 'self'; style-src 'self'; img-src 'self' data:; connect-src 'self'; "
    "form-action 'self'; base-uri 'none'; frame-ancestors 'none'"
)
FORBIDDEN = re.compile(r"\sstyle=|\son\w+=|<style|javascript:|<script(?![^>]*\ssrc=)(?![^>]*application/json)")


def pages(resolver: URLResolver, prefix: str = "/") -> list[str]:
    """Every address of a page that has no part to fill in."""
    found = []
    for entry in resolver.url_patterns:
        route = prefix + re.sub(r"^\^|\$$", "", str(entry.pattern))
        if isinstance(entry, URLResolver):
            found += pages(entry, route)
        elif isinstance(entry, URLPattern) and route.startswith(PREFIXES) and not set("<(\\") & set(route):
            found.append(route)
    return found


PAGES = pages(get_resolver())


class TestEveryPage:
    def test_there_are_some(self) -> None:
        assert {"/accounts/", "/accounts/login/", "/staff/", "/staff/leases/lease/"} <= set(PAGES)

    @pytest.mark.parametrize("path", PAGES)
    @pytest.mark.parametrize("who", ["nobody", "staff"])
    def test_has_the_strict_policy_and_keeps_to_it(self, browser: Browser, who: str, path: str) -> None:
        if who == "staff":
            browser.force_login(somebody(is_staff=True), "allauth.account.auth_backends.AuthenticationBackend")
        answer = browser.get(path)
        assert answer.status_code < 500
        assert answer["Content-Security-Policy"] == POLICY
        assert answer["Cache-Control"] == "private, no-store"
        assert "Cookie" in answer["Vary"]
        assert answer["X-Content-Type-Options"] == "nosniff"
        assert answer["Referrer-Policy"] == "same-origin"
        assert re.fullmatch(r"req_[0-9a-f]{32}", answer["X-Request-Id"])
        if answer["Content-Type"].startswith("text/html"):
            assert FORBIDDEN.findall(text_of(answer)) == []
            assert re.findall(r'(?:src|href)="(?:https?:)?//', text_of(answer)) == []

    def test_errors_of_pages_are_pages(self, browser: Browser) -> None:
        for path in ("/accounts/nothing/", "/accounts/nothing", "/staff-nothing/../accounts/x/"):
            answer = browser.get(path)
            assert answer.status_code == 404
        answer = browser.get("/accounts/nothing/")
        assert answer["Content-Type"].startswith("text/html")
        assert answer["Content-Security-Policy"] == HEADERS["Content-Security-Policy"]
        assert answer["X-Request-Id"] in text_of(answer)

    def test_errors_elsewhere_are_the_envelope(self, browser: Browser) -> None:
        for path in ("/nothing", "/account", "/account/x/", "/opsx"):
            assert browser.get(path).json()["code"] == "not_found"

    @pytest.mark.parametrize(
        ("short", "whole"),
        [("/accounts", "/accounts/"), ("/staff", "/staff/"), ("/ops", "/ops/rooms"), ("/ops/", "/ops/rooms")],
    )
    def test_short_addresses_lead_on(self, browser: Browser, short: str, whole: str) -> None:
        answer = browser.get(short)
        assert (answer.status_code, answer["Location"]) == (302, whole)
        assert answer["Content-Security-Policy"] == POLICY

    def test_bug_on_a_page_shows_nothing_internal(
        self, browser: Browser, user: User, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        browser.sign_in(user)
        browser.raise_request_exception = False
        monkeypatch.delattr(User, "memberships")
        answer = browser.get("/accounts/")
        assert answer.status_code == 500
        assert "memberships" not in text_of(answer)

    def test_storage_that_is_down_is_told_by_a_page(
        self, browser: Browser, user: User, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        from django.db import OperationalError

        def down(*_: Any) -> None:
            raise OperationalError("connection refused")

        browser.sign_in(user)
        browser.raise_request_exception = False
        monkeypatch.setattr("octostore.pages.views.render", down)
        answer = browser.get("/accounts/")
        assert answer.status_code == 503
        assert "refused" not in text_of(answer)


class TestApi:
    """Its requests see neither session nor CSRF, whatever cookies they carry."""

    @pytest.mark.parametrize("path", ["/health", "/elections/room-1234", "/status", "/usage"])
    def test_session_is_not_looked_at(self, browser: Browser, user: User, path: str) -> None:
        browser.sign_in(user)
        with CaptureQueriesContext(connection) as queries:
            answer = browser.get(path)
        assert [query["sql"] for query in queries if "django_session" in query["sql"]] == []
        assert not answer.cookies
        assert "Content-Security-Policy" not in answer
        assert "Cookie" not in answer.get("Vary", "")

    def test_post_needs_no_form(self, browser: Browser, user: User) -> None:
        browser.sign_in(user)
        assert browser.post("/elections", {}, content_type="application/json").status_code == 201

    def test_session_opens_nothing(self, browser: Browser, staff: User) -> None:
        browser.sign_in(staff)
        assert browser.get("/usage").status_code == 401


def cookies(web: Web, user: User, **headers: str) -> dict[str, str]:
    """The attributes of each cookie that a sign-in sets."""
    with web.client() as client:
        client.event_hooks = {"response": []}
        page = client.get("/accounts/login/", headers=headers)
        (token,) = re.findall(r'name="csrfmiddlewaretoken" value="([^"]+)"', page.text)
        # A browser would send them by itself; httpx keeps Secure ones from plain HTTP.
        sent = "; ".join(cookie.split(";")[0] for cookie in page.headers.get_list("Set-Cookie"))
        answer = client.post(
            "/accounts/login/",
            data={"login": user.email, "password": PASSWORD, "csrfmiddlewaretoken": token},
            headers=headers | {"Cookie": sent},
        )
        assert answer.status_code == 302, answer.text
        set_cookies = answer.headers.get_list("Set-Cookie")
        assert ("Strict-Transport-Security" in answer.headers) == ("Strict-Transport-Security" in page.headers)
        hsts = client.get("/health").headers.get("Strict-Transport-Security", "")
        return {"hsts": hsts} | {name: rest for name, _, rest in (cookie.partition("=") for cookie in set_cookies)}


class TestCookies:
    @pytest.fixture(autouse=True)
    def as_processes_hash(self, quick: None, settings: Settings) -> None:
        settings.PASSWORD_HASHERS = ["django.contrib.auth.hashers.PBKDF2PasswordHasher"]

    def test_over_https_they_are_secure_and_of_this_host_alone(
        self, database: str, start_web: Callable[..., Web]
    ) -> None:
        web = start_web(HTTPS="true")
        found = cookies(web, somebody(), Origin=web.url.replace("http:", "https:"))
        assert found.pop("hsts") == STRICT_TRANSPORT
        assert set(found) == {"__Host-session", "__Host-csrf"}
        for attributes in found.values():
            assert {"Secure", "HttpOnly", "SameSite=Lax", "Path=/"} <= set(attributes.split("; "))
            assert "Domain" not in attributes

    def test_over_plain_http_they_work_and_nobody_is_sent_to_https(
        self, database: str, start_web: Callable[..., Web]
    ) -> None:
        web = start_web(HTTPS="false")
        found = cookies(web, somebody(), Origin=web.url)
        assert found.pop("hsts") == ""
        assert set(found) == {"octostore_session", "octostore_csrf"}
        for attributes in found.values():
            assert {"HttpOnly", "SameSite=Lax", "Path=/"} <= set(attributes.split("; "))
            assert "Secure" not in attributes


def test_stylesheet_is_served_and_small(browser: Browser) -> None:
    answer = browser.get("/static/pages/pages.css")
    body = b"".join(answer.streaming_content)  # type: ignore[attr-defined]
    assert answer.status_code == 200
    assert 0 < len(body) < 20_000
