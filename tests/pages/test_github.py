"""Signing in with GitHub, where it is set up."""

from __future__ import annotations

from types import SimpleNamespace
from typing import Any
from urllib.parse import parse_qs, urlsplit

import pytest
from allauth.account.models import EmailAddress
from pytest_django.fixtures import Settings

from octostore.pages.adapters import GitHubAdapter
from octostore.teams import invitations
from octostore.teams.models import Role
from tests.pages.browser import Browser, text_of
from tests.teams.cast import ACT, found_team

LOGIN = "/accounts/github/login/"


@pytest.fixture
def github(settings: Settings) -> None:
    app = {"client_id": "our-client", "secret": "canary-client-secret"}
    settings.SOCIALACCOUNT_PROVIDERS = {"github": {"SCOPE": ["user:email"], "APPS": [app]}}


class TestNotSetUp:
    def test_is_not_offered_and_not_there(self, browser: Browser) -> None:
        assert LOGIN not in text_of(browser.get("/accounts/login/"))
        assert browser.get(LOGIN).status_code == 404
        assert browser.get(f"{LOGIN}callback/?code=x&state=y").status_code == 404


@pytest.mark.usefixtures("github")
class TestSetUp:
    def test_a_link_leads_there_with_a_state(self, browser: Browser) -> None:
        assert LOGIN in text_of(browser.get("/accounts/login/"))
        there = urlsplit(browser.get(LOGIN)["Location"])
        assert (there.scheme, there.netloc) == ("https", "github.com")
        asked = parse_qs(there.query)
        assert asked["client_id"] == ["our-client"]
        assert asked["redirect_uri"] == [f"http://testserver{LOGIN}callback/"]
        assert len(asked["state"][0]) >= 16
        assert "canary-client-secret" not in there.query

    @pytest.mark.parametrize("query", ["", "?error=access_denied", "?code=x", "?code=x&state=forged"])
    def test_coming_back_with_anything_else_signs_nobody_in(self, browser: Browser, query: str) -> None:
        assert browser.get(f"{LOGIN}callback/{query}").status_code in {200, 302, 401, 403}
        assert not browser.is_signed_in()


class TestSignUp:
    """Whether somebody whom GitHub knows may have an account here."""

    @pytest.fixture
    def request_of(self, browser: Browser) -> Any:
        return browser.get("/accounts/login/").wsgi_request

    @staticmethod
    def known(*addresses: tuple[str, bool]) -> Any:
        return SimpleNamespace(email_addresses=[EmailAddress(email=email, verified=sure) for email, sure in addresses])

    def test_is_closed_like_the_other(self, request_of: Any) -> None:
        assert not GitHubAdapter().is_open_for_signup(request_of, self.known(("ann@example.org", True)))

    def test_is_open_like_the_other(self, request_of: Any, settings: Settings) -> None:
        settings.SIGNUP = "open"
        assert GitHubAdapter().is_open_for_signup(request_of, self.known())

    @pytest.mark.parametrize(
        ("address", "sure", "opens"),
        [("Ann@example.org", True, True), ("ann@example.org", False, False), ("bob@example.org", True, False)],
    )
    def test_is_open_to_the_invited_address(self, browser: Browser, address: str, sure: bool, opens: bool) -> None:
        offered = invitations.offer(
            team=found_team(), email="ann@example.org", role=Role.VIEWER, invited_by=None, act=ACT
        )
        request = browser.get(f"/accounts/invitations/{offered.text}/").wsgi_request
        assert GitHubAdapter().is_open_for_signup(request, self.known((address, sure))) is opens
