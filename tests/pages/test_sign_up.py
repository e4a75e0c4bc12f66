"""Who may create an account, and how."""

from __future__ import annotations

from typing import Any

import pytest
from pytest_django.fixtures import Settings

from octostore.teams.models import User
from tests.pages.browser import PASSWORD, Browser, code_in, errors_on, text_of

SIGN_UP = "/accounts/signup/"


def ask(browser: Browser, email: str, password: str = PASSWORD) -> Any:
    return browser.submit(SIGN_UP, email=email, password1=password, password2=password)


class TestClosed:
    def test_it_is_by_default(self, browser: Browser) -> None:
        assert "closed" in text_of(browser.get(SIGN_UP))
        assert SIGN_UP not in text_of(browser.get("/accounts/login/"))

    def test_nobody_is_added(self, browser: Browser, user: User) -> None:
        token = browser.get("/accounts/login/").context["csrf_token"]
        browser.post(
            SIGN_UP,
            {"email": "new@example.org", "password1": PASSWORD, "password2": PASSWORD, "csrfmiddlewaretoken": token},
        )
        assert list(User.objects.all()) == [user]

    def test_api_paths_tell_nothing_of_it(self, browser: Browser) -> None:
        assert browser.get("/signup").status_code == 404


class TestOpen:
    @pytest.fixture(autouse=True)
    def opened(self, settings: Settings) -> None:
        settings.SIGNUP = "open"

    def test_is_offered_where_one_signs_in(self, browser: Browser) -> None:
        assert SIGN_UP in text_of(browser.get("/accounts/login/"))

    def test_address_must_be_proved_first(self, browser: Browser, mailoutbox: list[Any]) -> None:
        ask(browser, "New@Example.org")
        assert not browser.is_signed_in()
        (mail,) = mailoutbox
        assert mail.to == ["new@example.org"]
        browser.submit("/accounts/confirm-email/", code=code_in(mail))
        assert browser.is_signed_in()
        assert User.objects.get().email == "new@example.org"

    def test_whoever_did_not_read_the_mail_cannot_sign_in(self, browser: Browser) -> None:
        ask(browser, "new@example.org")
        other = Browser()
        other.submit("/accounts/login/", login="new@example.org", password=PASSWORD)
        assert not other.is_signed_in()

    def test_known_address_is_not_given_away(self, browser: Browser, user: User, mailoutbox: list[Any]) -> None:
        known = ask(browser, user.email)
        unknown = ask(Browser(), "new@example.org")
        assert (known.status_code, known["Location"]) == (unknown.status_code, unknown["Location"])
        assert sorted(mail.to[0] for mail in mailoutbox) == sorted([user.email, "new@example.org"])

    @pytest.mark.parametrize("password", ["short", "new@example.org", "password123", "1234567890"])
    def test_weak_password_is_refused(self, browser: Browser, password: str) -> None:
        assert errors_on(ask(browser, "new@example.org", password))
        assert not User.objects.exists()

    @pytest.mark.parametrize("email", ["", "x", "a b@example.org", "a\0@example.org"])
    def test_bad_address_is_refused(self, browser: Browser, email: str) -> None:
        assert ask(browser, email).status_code == 200
        assert not User.objects.exists()

    def test_mail_that_cannot_be_sent_is_told_and_leaves_no_mystery(self, browser: Browser, settings: Settings) -> None:
        settings.EMAIL_BACKEND = "django.core.mail.backends.smtp.EmailBackend"
        settings.EMAIL_HOST, settings.EMAIL_PORT = "127.0.0.1", 1
        browser.raise_request_exception = False
        answer = ask(browser, "new@example.org")
        assert answer.status_code == 503
        assert "Mail cannot be sent" in text_of(answer)
