"""The mark of a room's tab: what the room is at one glance, and no calm one where nothing is known."""

from __future__ import annotations

import re
from collections.abc import Callable

import pytest
from playwright.sync_api import Page, expect

from tests.browser.conftest import OpenWindow
from tests.elections.rooms import win
from tests.http import Client
from tests.processes import Web

pytestmark = pytest.mark.only("sqlite")


def shows(page: Page, name: str, timeout: float = 5000) -> None:
    icon = page.locator("head > #icon")
    expect(icon).to_have_attribute("href", re.compile(rf"/icons/{name}(\.\w+)?\.svg$"), timeout=timeout)
    # Headless, no tab would ask for it.
    answer = page.request.get(icon.get_attribute("href") or "")
    assert (answer.status, answer.headers["content-type"]) == (200, "image/svg+xml")


def test_it_is_the_servers_without_scripts(open_window: OpenWindow, client: Client, room: str) -> None:
    page = open_window(scripts=False).page
    page.goto(f"/r/{room}")
    shows(page, "vacant")
    win(client, room, "atlas", ttl_seconds=60)
    page.reload()
    shows(page, "held")
    page.goto("/status")
    expect(page.locator("#icon")).to_have_attribute("href", re.compile(r"/mark(\.\w+)?\.svg$"))


def test_it_follows_the_room(open_window: OpenWindow, client: Client, room: str) -> None:
    window = open_window()
    window.page.goto(f"/r/{room}")
    window.goes_live()
    shows(window.page, "vacant")
    win(client, room, "atlas", ttl_seconds=5)
    shows(window.page, "held")
    # A third of five seconds before its end.
    shows(window.page, "expiring", timeout=6000)
    shows(window.page, "vacant", timeout=6000)


def test_it_is_no_calm_one_while_the_connection_is_lost(
    open_window: OpenWindow, start_web: Callable[..., Web], room: str
) -> None:
    web = start_web()
    with web.client() as client:
        win(client, room, "atlas", ttl_seconds=300)
    window = open_window(web)
    window.expect("failed|ERR_|htmx:error")
    page = window.page
    page.clock.install()
    page.goto(f"/r/{room}")
    window.goes_live()
    shows(page, "held")
    stale = page.locator("#icon").get_attribute("data-stale-href")
    assert page.request.get(stale or "").status == 200
    web.pause()
    page.clock.run_for(27_000)
    expect(page.locator("#icon")).to_have_attribute("href", stale or "")
    web.resume()
    page.clock.run_for(60_000)
    window.goes_live()
    shows(page, "held")
