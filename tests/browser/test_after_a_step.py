"""Pages that come only after something else: half-way through signing in, after a form, where something failed."""

from __future__ import annotations

import sqlite3
from collections.abc import Callable
from contextlib import closing
from pathlib import Path

import pytest
from playwright.sync_api import Page

from octostore.pages.headers import HEADERS
from tests.browser.accessibility import complaints
from tests.browser.conftest import OpenPage
from tests.browser.site import Site
from tests.pages.browser import PASSWORD
from tests.processes import Web

pytestmark = pytest.mark.only("sqlite")

CSP = HEADERS["Content-Security-Policy"]


def is_for_everybody(page: Page) -> None:
    found = complaints(page)
    assert not found, "\n".join(found)


def sign_in(page: Page, email: str, password: str = PASSWORD) -> None:
    page.goto("/accounts/login/")
    page.get_by_label("Email").fill(email)
    page.locator("input[type=password]").fill(password)
    page.locator("main button").first.click()


class TestSigningIn:
    def test_wrong_password(self, open_page: OpenPage) -> None:
        page = open_page("")
        sign_in(page, "grace@example.org", "wrong-password")
        assert page.locator(".errorlist").count()
        is_for_everybody(page)

    def test_second_factor(self, open_page: OpenPage) -> None:
        page = open_page("")
        sign_in(page, "second@example.org")
        page.wait_for_url("**/accounts/2fa/authenticate/**")
        is_for_everybody(page)

    @pytest.mark.parametrize("way", ["login/code", "password/reset"])
    def test_mailed_code(self, open_page: OpenPage, way: str) -> None:
        page = open_page("")
        page.goto(f"/accounts/{way}/")
        page.get_by_label("Email").fill("grace@example.org")
        page.locator("main button").first.click()
        page.wait_for_url(f"**/accounts/{way}/confirm/**")
        is_for_everybody(page)

    def test_verification_of_an_address(self, open_page: OpenPage) -> None:
        page = open_page("")
        page.goto("/accounts/signup/")
        page.get_by_label("Email").fill("new@example.org")
        for field in page.locator("input[type=password]").all():
            field.fill(PASSWORD)
        page.locator("main button").first.click()
        page.wait_for_url("**/accounts/confirm-email/**")
        is_for_everybody(page)


class TestShownOnce:
    def test_new_key(self, page: Page) -> None:
        page.goto("/t/harbour/keys/new")
        page.get_by_label("Name").fill("shown-once")
        page.get_by_role("button", name="Make the key").click()
        page.wait_for_selector("input[data-once]")
        is_for_everybody(page)

    def test_is_marked_to_be_copied_where_the_browser_has_no_clipboard(self, page: Page) -> None:
        page.add_init_script("Object.defineProperty(navigator, 'clipboard', {value: undefined})")
        page.goto("/t/harbour/keys/new")
        page.get_by_label("Name").fill("copied-by-hand")
        page.get_by_role("button", name="Make the key").click()
        page.get_by_role("button", name="Copy").first.click()
        shown = page.locator("input[data-once]")
        assert shown.evaluate(
            "({value, selectionStart, selectionEnd}) => value.slice(selectionStart, selectionEnd)"
        ) == (shown.input_value())

    def test_new_webhook(self, page: Page) -> None:
        page.goto("/t/harbour/webhooks/new")
        page.get_by_label("URL").fill("https://fresh.example.com/hook")
        page.get_by_label("acquired").check()
        page.get_by_label("Locks").fill("nothing/*")
        page.locator("main form button").first.click()
        page.wait_for_selector("input[data-once]")
        is_for_everybody(page)

    def test_form_with_errors(self, open_page: OpenPage) -> None:
        page = open_page(expected=("status of 422",))
        page.goto("/t/harbour/keys/new")
        page.get_by_role("button", name="Make the key").click()
        page.wait_for_selector("#errors")
        is_for_everybody(page)


class TestErrors:
    @pytest.mark.parametrize(
        ("who", "address", "status"),
        [
            ("owner", "/r/not!an!id", 400),
            ("owner", "/start/short", 400),
            ("second", "/ops/rooms", 403),
            ("second", "/t/harbour", 404),
            ("owner", "/t/harbour/nothing", 404),
            ("owner", "/staff/nothing", 404),
        ],
    )
    def test_refusal(self, open_page: OpenPage, who: str, address: str, status: int) -> None:
        self.check(open_page(who, expected=(f"status of {status}",)), address, status)

    def test_too_many_requests(self, open_page: OpenPage, site: Site, start: Callable[..., Web]) -> None:
        web = start(site.environment | {"OCTOSTORE_ELECTION_REQUESTS_PER_MINUTE": "1"})
        page = open_page(at=web, expected=("status of 429",))
        for _ in range(2):
            page.goto("/start")
            with page.expect_navigation() as navigation:
                page.get_by_role("button", name="Start").click()
        assert navigation.value
        assert navigation.value.status == 429
        assert navigation.value.headers["content-security-policy"] == CSP
        is_for_everybody(page)

    @pytest.mark.parametrize(
        ("damage", "status"),
        [
            ("DROP TABLE teams_membership", 503),
            ("UPDATE teams_membership SET role = 'a role nobody knows'", 500),
        ],
    )
    def test_failure(
        self, open_page: OpenPage, site: Site, start: Callable[..., Web], damage: str, status: int, tmp_path: Path
    ) -> None:
        copy = tmp_path / "damaged.sqlite3"
        with (
            closing(sqlite3.connect(site.directory / "site.sqlite3")) as whole,
            closing(sqlite3.connect(copy)) as other,
        ):
            whole.backup(other)
        web = start(site.environment | {"DATABASE_URL": f"sqlite:///{copy}"})
        page = open_page(at=web, expected=(f"status of {status}",))
        with closing(sqlite3.connect(copy)) as other:
            other.execute(damage)
            other.commit()
        self.check(page, "/t/harbour/locks", status)

    def check(self, page: Page, address: str, status: int) -> None:
        answer = page.goto(address)
        assert answer
        assert answer.status == status
        assert answer.headers["content-security-policy"] == CSP
        is_for_everybody(page)
