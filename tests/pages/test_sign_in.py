"""Signing in by password and by mailed code, and out again."""

from __future__ import annotations

from typing import Any

import pytest
from pytest_django.fixtures import Settings

from octostore.teams.models import User
from tests.pages.browser import PASSWORD, Browser, code_in, errors_on, somebody, text_of

LOGIN = "/accounts/login/"


class TestPassword:
    def test_right_one_signs_in(self, browser: Browser, user: User) -> None:
        answer = browser.sign_in(user)
        assert (answer.status_code, answer["Location"]) == (302, "/accounts/")
        assert browser.is_signed_in()

    def test_address_is_read_in_any_case(self, browser: Browser, user: User) -> None:
        browser.submit(LOGIN, login=user.email.upper(), password=PASSWORD)
        assert browser.is_signed_in()

    def test_wrong_password_and_unknown_address_are_told_the_same(self, browser: Browser, user: User) -> None:
        wrong = browser.sign_in(user, "wrong password")
        unknown = browser.submit(LOGIN, login="nobody@example.org", password=PASSWORD)
        assert errors_on(wrong) == errors_on(unknown) != []
        assert (wrong.status_code, unknown.status_code) == (200, 200)
        assert not browser.is_signed_in()

    @pytest.mark.parametrize("login", ["", "x", "a\0b@example.org", "é@example.org", "a" * 5000])
    def test_odd_addresses_are_refused(self, browser: Browser, login: str) -> None:
        assert browser.submit(LOGIN, login=login, password=PASSWORD).status_code == 200
        assert not browser.is_signed_in()

    def test_guessing_is_slowed(self, browser: Browser, user: User) -> None:
        for _ in range(5):
            browser.sign_in(user, "wrong password")
        slowed = browser.sign_in(user)
        assert slowed.status_code in {200, 429}
        assert not browser.is_signed_in()

    def test_too_many_are_told_so_by_a_page_of_ours(self, browser: Browser, user: User, settings: Settings) -> None:
        settings.ACCOUNT_RATE_LIMITS = {"login": "1/m/ip"}
        _, answer = (browser.sign_in(user, "wrong password") for _ in range(2))
        assert (answer.status_code, answer["Retry-After"]) == (429, "60")
        assert answer["X-Request-Id"] in text_of(answer)

    def test_guessing_one_address_slows_no_other(self, browser: Browser, user: User) -> None:
        other = somebody()
        for _ in range(5):
            browser.sign_in(user, "wrong password")
        browser.sign_in(other)
        assert browser.is_signed_in()

    def test_inactive_user_is_kept_out(self, browser: Browser) -> None:
        browser.sign_in(somebody(is_active=False))
        assert not browser.is_signed_in()

    def test_user_who_is_switched_off_is_out_at_once(self, browser: Browser, user: User) -> None:
        browser.sign_in(user)
        User.objects.filter(pk=user.pk).update(is_active=False)
        assert not browser.is_signed_in()

    def test_form_from_elsewhere_is_refused_with_a_page(self, browser: Browser, user: User) -> None:
        answer = browser.post(LOGIN, {"login": user.email, "password": PASSWORD})
        assert answer.status_code == 403
        assert "expired" in text_of(answer)
        assert answer["X-Request-Id"] in text_of(answer)

    @pytest.mark.parametrize(
        ("wanted", "given"),
        [
            ("/accounts/email/", "/accounts/email/"),
            ("https://evil.example/", "/accounts/"),
            ("//evil.example/", "/accounts/"),
            ("javascript:alert(1)", "/accounts/"),
        ],
    )
    def test_goes_on_to_our_own_pages_alone(self, browser: Browser, user: User, wanted: str, given: str) -> None:
        answer = browser.submit(f"{LOGIN}?next={wanted}", login=user.email, password=PASSWORD, next=wanted)
        assert answer["Location"] == given

    def test_changed_password_signs_in_and_the_old_one_does_not(self, browser: Browser, user: User) -> None:
        browser.sign_in(user)
        browser.submit(
            "/accounts/password/change/",
            oldpassword=PASSWORD,
            password1="another-tide-table",
            password2="another-tide-table",
        )
        other = Browser()
        other.sign_in(user)
        assert not other.is_signed_in()
        other.sign_in(user, "another-tide-table")
        assert other.is_signed_in()

    @pytest.mark.parametrize("weak", ["short-one", "1234567890", "password123"])
    def test_weak_password_is_refused(self, browser: Browser, user: User, weak: str) -> None:
        browser.sign_in(user)
        refused = browser.submit("/accounts/password/change/", oldpassword=PASSWORD, password1=weak, password2=weak)
        assert errors_on(refused)


class TestMailedCode:
    def test_right_code_signs_in(self, browser: Browser, user: User, mailoutbox: list[Any]) -> None:
        browser.submit("/accounts/login/code/", email=user.email)
        browser.submit("/accounts/login/code/confirm/", code=code_in(mailoutbox[0]))
        assert browser.is_signed_in()

    def test_wrong_codes_use_it_up(self, browser: Browser, user: User, mailoutbox: list[Any]) -> None:
        browser.submit("/accounts/login/code/", email=user.email)
        for _ in range(4):
            browser.post("/accounts/login/code/confirm/")
            browser.submit("/accounts/login/code/confirm/", code="AAAA-AAAA")
        browser.submit("/accounts/login/code/confirm/", code=code_in(mailoutbox[0]))
        assert not browser.is_signed_in()

    def test_code_is_of_no_use_in_another_browser(self, browser: Browser, user: User, mailoutbox: list[Any]) -> None:
        browser.submit("/accounts/login/code/", email=user.email)
        other = Browser()
        other.submit("/accounts/login/code/confirm/", code=code_in(mailoutbox[0]))
        assert not other.is_signed_in()

    def test_unknown_address_is_told_the_same(self, browser: Browser, user: User) -> None:
        known = browser.submit("/accounts/login/code/", email=user.email)
        unknown = Browser().submit("/accounts/login/code/", email="nobody@example.org")
        assert (known.status_code, known["Location"]) == (unknown.status_code, unknown["Location"])

    def test_forgotten_password_is_replaced_by_code(self, browser: Browser, user: User, mailoutbox: list[Any]) -> None:
        browser.submit("/accounts/password/reset/", email=user.email)
        (mail,) = mailoutbox
        assert "http" not in mail.body
        browser.submit("/accounts/password/reset/confirm/", code=code_in(mail))
        browser.submit(
            "/accounts/password/reset/complete/", password1="another-tide-table", password2="another-tide-table"
        )
        fresh = Browser()
        fresh.sign_in(user, "another-tide-table")
        assert fresh.is_signed_in()


class TestSignOut:
    def test_ends_the_session(self, browser: Browser, user: User) -> None:
        browser.sign_in(user)
        stolen = browser.cookies["octostore_session"].value
        browser.submit("/accounts/logout/")
        assert not browser.is_signed_in()
        thief = Browser()
        thief.cookies["octostore_session"] = stolen
        assert not thief.is_signed_in()

    def test_pages_of_the_account_ask_to_sign_in(self, browser: Browser) -> None:
        answer = browser.get("/accounts/")
        assert (answer.status_code, answer["Location"]) == (302, "/accounts/login/?next=/accounts/")
