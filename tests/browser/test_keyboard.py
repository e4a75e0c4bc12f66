"""What people do to a team with a keyboard alone, with and without script."""

from __future__ import annotations

import re
from uuid import uuid4

import pytest
from playwright.sync_api import Locator, Page, expect

from tests.browser.conftest import OpenPage
from tests.browser.site import Site

pytestmark = pytest.mark.only("sqlite")

TABS_MAX = 120
KEY = re.compile(r"osk_[a-z0-9]{12}_[A-Za-z0-9_-]{43}")
REFUSED = "status of 422"


@pytest.fixture(params=[True, False], ids=["script", "no script"])
def page(request: pytest.FixtureRequest, open_page: OpenPage) -> Page:
    return open_page(expected=(REFUSED,), scripts=request.param)


def tab_to(page: Page, target: Locator) -> None:
    """Press Tab until `target` has the focus, and it can be seen that it has."""
    expect(target).to_have_count(1)
    for _ in range(TABS_MAX):
        page.keyboard.press("Tab")
        if target.and_(page.locator(":focus")).count():
            assert target.evaluate("one => getComputedStyle(one).outlineStyle") != "none"
            return
    raise AssertionError(f"no way to {target} by Tab")


def press(page: Page, role: str, name: str) -> None:
    tab_to(page, page.get_by_role(role, name=name, exact=True))  # type: ignore[arg-type]
    page.keyboard.press("Enter")


def fill(page: Page, label: str, text: str) -> None:
    tab_to(page, page.get_by_label(label))
    page.keyboard.press("Control+a")
    page.keyboard.type(text)


def test_a_key_is_made_and_kept(page: Page) -> None:
    name = f"key-{uuid4().hex[:8]}"
    page.goto("/t/harbour/keys")
    press(page, "link", "New key")
    press(page, "button", "Make the key")
    # Told at the top, where the focus goes, with a way to the field.
    expect(page.locator("#errors")).to_be_focused()
    page.keyboard.press("Tab")
    page.keyboard.press("Enter")
    expect(page.get_by_label("Name")).to_be_focused()
    page.keyboard.type(name)
    press(page, "button", "Make the key")
    shown = page.get_by_label(f"The key {name}")
    expect(shown).to_be_focused()
    expect(shown).to_have_value(KEY)
    press(page, "link", "I have stored it")
    expect(page.locator("tbody")).to_contain_text(name)
    assert not KEY.search(page.content())


def test_a_term_is_force_released(page: Page, site: Site) -> None:
    name = f"keyboard/{uuid4().hex}"
    with site.worker() as worker:
        worker.hold(name, ttl_seconds=600, holder="stuck-1")
    page.goto(f"/t/harbour/locks/{name}")
    press(page, "link", "Force-release")
    expect(page.get_by_role("heading", name=f"Force-release {name}")).to_be_visible()
    fill(page, "The lock's name", name)
    fill(page, "Reason", "its host is gone")
    fill(page, "Seconds until it can be acquired again", "0")
    press(page, "button", "End this term")
    expect(page.locator("#state")).to_contain_text("Nobody holds it")
    expect(page.locator("#state")).to_contain_text("its host is gone")


def test_somebody_is_invited(page: Page) -> None:
    email = f"{uuid4().hex[:12]}@example.org"
    page.goto("/t/harbour/members")
    fill(page, "E-mail addresses", email)
    press(page, "button", "Send invitations")
    expect(page.get_by_label(email)).to_have_value(re.compile(r"/accounts/invitations/[\w-]{43}/$"))
    expect(page.locator("main")).to_contain_text(email)


def test_a_delivery_is_repeated(page: Page) -> None:
    page.goto("/t/harbour/webhooks")
    tab_to(page, page.locator("#webhooks tbody a").first)
    page.keyboard.press("Enter")
    tab_to(page, page.locator("#deliveries tbody a").first)
    page.keyboard.press("Enter")
    press(page, "button", "Redeliver")
    expect(page.locator("main")).to_contain_text("It is sent again, under the same message id.")
    expect(page.locator("#delivery")).to_contain_text("Pending")
