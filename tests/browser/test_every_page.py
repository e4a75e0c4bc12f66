"""Every page in light, dark and on a phone: accessible, without an overflow, quiet, and readable without scripts."""

from __future__ import annotations

from collections.abc import Iterator

import pytest
from axe_playwright_python.sync_playwright import Axe

from octostore.teams.models import User
from tests.browser.conftest import OpenWindow
from tests.browser.window import Window
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
ERRORS = ("/r/short", "/r/a/b/c", "/accounts/nothing/", "/start/short")
SIGNED_IN = ("/accounts/", "/accounts/email/", "/accounts/2fa/")
VIEWS = [("light", "wide"), ("dark", "wide"), ("light", "narrow")]
# The axe rules of WCAG 2.2 AA, and what they call best practice.
AXE = {"runOnly": ["wcag2a", "wcag2aa", "wcag21a", "wcag21aa", "wcag22aa", "best-practice"]}


@pytest.fixture
def led(client: Client, room: str) -> str:
    """A room with a history, and a leader who writes a lot."""
    for candidate in ("atlas", "borea", "atlas"):
        client.resign(room, win(client, room, candidate)["leader_token"])
    win(
        client, room, "a-candidate-with-a-rather-long-name.eu-central-1:4711", ttl_seconds=300, metadata="us-west " * 40
    )
    return room


def visits(window: Window, room: str, paths: tuple[str, ...]) -> Iterator[str]:
    """Each page, once all it does by itself is done."""
    for path in paths:
        answer = window.page.goto(path.format(room=room))
        assert answer
        if answer.status >= 400:
            window.expect(rf"status of {answer.status}")
        elif "data-live-url" in answer.text() and window.page.evaluate("1") == 1:
            window.goes_live()
        yield path


@pytest.mark.parametrize(("scheme", "width"), VIEWS)
class TestScripted:
    def check(self, window: Window, room: str, paths: tuple[str, ...]) -> None:
        found = []
        for path in visits(window, room, paths):
            report = Axe().run(window.page, options=AXE)
            found += [
                f"{path}: {one['id']} {[node['html'][:120] for node in one['nodes']][:3]}"
                for one in report.response["violations"]
            ]
            if window.page.evaluate("document.documentElement.scrollWidth > innerWidth"):
                found.append(f"{path}: overflows")
        assert found == []

    def test_public_pages(self, open_window: OpenWindow, led: str, scheme: str, width: str) -> None:
        self.check(open_window(scheme=scheme, width=width), led, PUBLIC)

    def test_errors(self, open_window: OpenWindow, led: str, scheme: str, width: str) -> None:
        self.check(open_window(scheme=scheme, width=width), led, ERRORS)

    def test_account(self, open_window: OpenWindow, led: str, user: User, scheme: str, width: str) -> None:
        self.check(open_window(scheme=scheme, width=width, user=user), led, SIGNED_IN)


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
