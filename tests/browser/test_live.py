"""Pages that follow what happens, and say how sure they are of it."""

from __future__ import annotations

import pytest
from playwright.sync_api import Page, expect

from tests.browser.site import Site
from tests.browser.window import comes_alive

pytestmark = pytest.mark.only("sqlite")


def test_a_lock_that_is_acquired_appears_without_reloading(page: Page, site: Site) -> None:
    page.goto("/t/harbour/locks?prefix=fresh/")
    comes_alive(page)
    with site.worker() as worker:
        worker.hold("fresh/one", holder="atlas")
    expect(page.locator("#rows")).to_contain_text("atlas")
