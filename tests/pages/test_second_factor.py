"""A second factor, once it is set up, is asked for; its seed is no secret the database could tell."""

from __future__ import annotations

import re

import pytest
from allauth.mfa.models import Authenticator
from django.core.cache import cache
from django.db import connection

from octostore.pages.adapters import SecondFactorAdapter
from octostore.teams.models import User
from tests.pages.browser import PASSWORD, Browser, errors_on, text_of, totp

ACTIVATE = "/accounts/2fa/totp/activate/"


@pytest.fixture
def seed(browser: Browser, user: User) -> str:
    """Of the authenticator app that the user has set up; the browser is signed out again."""
    browser.sign_in(user)
    browser.submit("/accounts/reauthenticate/", password=PASSWORD)
    page = browser.get(ACTIVATE)
    (seed,) = re.findall(r'value="([A-Z2-7]{32})"', text_of(page))
    assert browser.fill(page, ACTIVATE, code=totp(seed)).status_code == 302
    browser.submit("/accounts/logout/")
    # As if half a minute had passed: an app's code works once.
    cache.clear()
    return str(seed)


class TestSignIn:
    def test_password_alone_is_not_enough(self, browser: Browser, user: User, seed: str) -> None:
        answer = browser.sign_in(user)
        assert answer["Location"].startswith("/accounts/2fa/authenticate/")
        assert not browser.is_signed_in()

    def test_code_of_the_app_completes_it(self, browser: Browser, user: User, seed: str) -> None:
        browser.sign_in(user)
        browser.submit("/accounts/2fa/authenticate/", code=totp(seed))
        assert browser.is_signed_in()

    def test_code_works_once(self, browser: Browser, user: User, seed: str) -> None:
        code = totp(seed)
        browser.sign_in(user)
        browser.submit("/accounts/2fa/authenticate/", code=code)
        other = Browser()
        other.sign_in(user)
        other.submit("/accounts/2fa/authenticate/", code=code)
        assert not other.is_signed_in()

    @pytest.mark.parametrize("code", ["", "000000", "1", "x" * 100, "\0"])
    def test_wrong_code_is_refused(self, browser: Browser, user: User, seed: str, code: str) -> None:
        browser.sign_in(user)
        assert errors_on(browser.submit("/accounts/2fa/authenticate/", code=code))
        assert not browser.is_signed_in()

    def test_recovery_code_completes_it_once(self, browser: Browser, user: User, seed: str) -> None:
        codes = Authenticator.objects.get(user=user, type="recovery_codes").wrap().get_unused_codes()
        for expected in (True, False):
            other = Browser()
            other.sign_in(user)
            other.submit("/accounts/2fa/authenticate/", code=codes[0])
            assert other.is_signed_in() is expected


class TestKept:
    def test_seed_is_encrypted(self, user: User, seed: str) -> None:
        with connection.cursor() as cursor:
            cursor.execute("SELECT * FROM mfa_authenticator")
            assert seed not in repr(cursor.fetchall())

    def test_seed_outlives_a_new_server_key(self, settings: object) -> None:
        from octostore.lib.secrets import ServerKey, encode, mint

        kept = SecondFactorAdapter().encrypt("seed")
        settings.SERVER_KEYS = [ServerKey.from_text(encode(mint(32))), *settings.SERVER_KEYS]  # type: ignore[attr-defined]
        assert SecondFactorAdapter().decrypt(kept) == "seed"

    def test_setting_up_asks_for_the_password_again(self, browser: Browser, user: User) -> None:
        browser.force_login(user, "allauth.account.auth_backends.AuthenticationBackend")
        assert browser.get(ACTIVATE)["Location"].startswith("/accounts/reauthenticate/")
