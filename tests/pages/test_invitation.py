"""The page behind an invitation's link."""

from __future__ import annotations

from typing import Any

import pytest
from django.core.mail import EmailMessage

from octostore.teams import invitations
from octostore.teams.models import Role, Team, User
from tests.pages.browser import PASSWORD, Browser, code_in, errors_on, somebody, text_of
from tests.teams.cast import ACT, found_team


@pytest.fixture
def team(database: str) -> Team:
    return found_team()


@pytest.fixture
def text(team: Team) -> str:
    """The secret of an invitation for new@example.org."""
    return invitations.offer(team=team, email="new@example.org", role=Role.VIEWER, invited_by=None, act=ACT).text


@pytest.fixture
def link(text: str) -> str:
    """As it stands in the mail."""
    return invitations.path(text, mailed=True)


def sign_up(browser: Browser, email: str, link: str) -> Any:
    return browser.submit("/accounts/signup/", email=email, password1=PASSWORD, password2=PASSWORD, next=link)


class TestWithoutAnAccount:
    def test_invited_address_may_sign_up_where_that_is_closed(self, browser: Browser, team: Team, link: str) -> None:
        assert "/accounts/signup/" in text_of(browser.get(link))
        answer = sign_up(browser, "new@example.org", link)
        # Whoever has the link has read the mail: no second proof.
        assert (answer.status_code, answer["Location"]) == (302, link)
        browser.submit(link)
        assert team.memberships.get().role == Role.VIEWER
        assert team.slug in text_of(browser.get("/accounts/"))

    @pytest.mark.parametrize("proof", ["", "x", "A" * 43, "\ud800"])
    def test_link_that_was_passed_on_proves_no_address(
        self, browser: Browser, text: str, proof: str, mailoutbox: list[EmailMessage]
    ) -> None:
        path = invitations.path(text, mailed=False)
        browser.get(path, {"mailed": proof.encode("utf-8", "surrogatepass")})
        answer = sign_up(browser, "new@example.org", path)
        assert answer["Location"].startswith("/accounts/confirm-email/")
        assert not browser.is_signed_in()
        browser.submit("/accounts/confirm-email/", code=code_in(mailoutbox[0]))
        assert browser.is_signed_in()

    def test_another_address_may_not(self, browser: Browser, link: str) -> None:
        browser.get(link)
        assert errors_on(sign_up(browser, "other@example.org", link))
        assert not User.objects.exists()

    def test_link_opens_sign_up_in_its_browser_alone(self, browser: Browser, link: str) -> None:
        browser.get(link)
        assert "closed" in text_of(Browser().get("/accounts/signup/"))

    def test_used_link_opens_nothing(self, browser: Browser, text: str, link: str) -> None:
        browser.get(link)
        invitations.accept(text=text, user=somebody())
        assert "closed" in text_of(browser.get("/accounts/signup/"))

    def test_sending_the_form_asks_to_sign_in(self, browser: Browser, team: Team, link: str) -> None:
        token = browser.get("/accounts/login/").context["csrf_token"]
        answer = browser.post(link, {"csrfmiddlewaretoken": token})
        assert answer["Location"].startswith("/accounts/login/")
        assert not team.memberships.exists()


class TestSignedIn:
    def test_joins_by_a_form_and_not_by_looking(self, browser: Browser, user: User, team: Team, link: str) -> None:
        browser.sign_in(user)
        assert browser.get(link).status_code == 200
        assert not team.memberships.exists()
        answer = browser.submit(link, follow=True)
        assert answer.redirect_chain == [(f"/t/{team.slug}", 302)]
        assert f"You belong to {team.slug} now" in text_of(answer)
        assert team.memberships.get().user == user

    def test_another_account_is_asked_about(self, browser: Browser, user: User, link: str) -> None:
        browser.sign_in(user)
        assert "was sent to" in text_of(browser.get(link))

    def test_form_from_elsewhere_is_refused(self, browser: Browser, user: User, team: Team, link: str) -> None:
        browser.sign_in(user)
        assert browser.post(link).status_code == 403
        assert not team.memberships.exists()


@pytest.mark.parametrize("text", ["x", "A" * 43, "%00", "%ED%A0%80", "é"])
def test_unknown_link_is_a_page_of_404(browser: Browser, text: str) -> None:
    answer = browser.get(f"/accounts/invitations/{text}/")
    assert answer.status_code == 404
    assert answer["Content-Type"].startswith("text/html")
