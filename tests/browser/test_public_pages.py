"""Public pages in states that no address alone shows, and all of them without scripts."""

from __future__ import annotations

import pytest

from tests.browser.accessibility import complaints
from tests.browser.conftest import OpenWindow
from tests.elections.rooms import win
from tests.http import Client

pytestmark = pytest.mark.only("sqlite")

PUBLIC = (
    "/",
    "/start",
    "/start/{room}",
    "/r/{room}",
    "/r/{room}?span=day",
    "/r/{room}/terms?before=99999999999",
    "/r/nobody-led-this",
    "/status",
    "/keyboard",
    "/accounts/login/",
    "/accounts/password/reset/",
)
STATES = (
    "/r/{room}",
    "/r/{room}?span=day",
    "/r/{room}/terms?before=99999999999",
    "/start/{room}",
    "/r/short",
    "/r/a/b/c",
)


@pytest.fixture
def led(client: Client, room: str) -> str:
    """A room with a history, and a leader who writes a lot."""
    for candidate in ("atlas", "borea", "atlas"):
        client.resign(room, win(client, room, candidate)["leader_token"])
    win(
        client, room, "a-candidate-with-a-rather-long-name.eu-central-1:4711", ttl_seconds=300, metadata="us-west " * 40
    )
    return room


@pytest.mark.parametrize("path", STATES)
def test_state_that_no_address_alone_shows_is_for_everybody(open_window: OpenWindow, led: str, path: str) -> None:
    window = open_window()
    answer = window.page.goto(path.format(room=led))
    assert answer
    if answer.status >= 400:
        window.expect(f"status of {answer.status}")
    assert complaints(window.page) == []


class TestWithoutScripts:
    def test_everything_can_be_read(self, open_window: OpenWindow, led: str) -> None:
        page = open_window(scripts=False).page
        for path in PUBLIC:
            page.goto(path.format(room=led))
            assert page.locator("h1").is_visible()
            assert not page.locator("#live-pill").is_visible()
        page.goto(f"/r/{led}")
        assert page.get_by_text("until the lease expires").is_visible()
        assert page.get_by_role("timer").inner_text().startswith(("4 min", "5 min"))
        page.get_by_text("Show as table").click()
        assert page.get_by_role("table").is_visible()
        page.get_by_role("radio", name="Python").check()
        assert page.get_by_text("import json").is_visible()
        assert not page.get_by_text("curl -sS -X POST").first.is_visible()

    def test_theme_and_times_can_be_chosen(self, open_window: OpenWindow, led: str) -> None:
        page = open_window(scripts=False).page
        page.goto(f"/r/{led}?span=day")
        page.get_by_role("button", name="Dark").click()
        assert page.url.endswith(f"/r/{led}?span=day")
        assert page.locator("html[data-theme=dark]").count() == 1
        page.get_by_role("button", name="UTC").click()
        assert page.locator("time", has_text="UTC").count() > 3
        page.goto("/")
        assert page.locator("html[data-theme=dark]").count() == 1

    def test_rooms_are_opened_by_forms(self, open_window: OpenWindow) -> None:
        page = open_window(scripts=False).page
        page.goto("/")
        page.get_by_role("button", name="Open an empty room").click()
        assert "/r/" in page.url
        page.goto("/start")
        page.get_by_role("button", name="Start").click()
        assert page.get_by_text("Nobody has led yet").is_visible()
