"""Pages that follow: soon, by the server's clock, and never calm about a server that is gone."""

from __future__ import annotations

import time
from collections.abc import Callable
from datetime import datetime, timedelta

import pytest
from django.db.models import F
from playwright.sync_api import Page, expect

from octostore.leases.models import Lease
from octostore.teams.models import User
from tests.browser.conftest import OpenWindow
from tests.elections.rooms import win
from tests.http import Client
from tests.processes import Web
from tests.teams.cast import found_team, join
from tests.watch.test_gauges import comes_to

pytestmark = pytest.mark.only("sqlite")


# The clock jumps over the time that a request takes.
JUMPED = "htmx:error: timeout"
# Exact, where asking again and again from here would add its own pauses.
NOTE_WHEN = """(name) => new MutationObserver(() => {
    if (document.querySelector(".who").textContent === name) window.seenAt ??= Date.now();
}).observe(document.body, { subtree: true, childList: true, characterData: true })"""


def hide(page: Page, hidden: bool) -> None:
    """What a browser does to a tab that another one covers; headless it has no such thing."""
    page.evaluate(
        """(hidden) => {
            Object.defineProperty(document, "hidden", { value: hidden, configurable: true });
            document.dispatchEvent(new Event("visibilitychange"));
        }""",
        hidden,
    )


class TestTakeover:
    def test_two_browsers_see_the_same_one_within_a_second(
        self, open_window: OpenWindow, client: Client, room: str
    ) -> None:
        first = win(client, room, "atlas", ttl_seconds=60)
        windows = [open_window(), open_window(scheme="dark", width="narrow")]
        for window in windows:
            window.page.goto(f"/r/{room}")
            window.goes_live()
            expect(window.page.locator(".who")).to_have_text("atlas")
            window.page.evaluate(NOTE_WHEN, "borea")
        client.resign(room, first["leader_token"])
        win(client, room, "borea", ttl_seconds=60)
        won_at = time.time()
        for window in windows:
            expect(window.page.locator(".who")).to_have_text("borea")
            assert window.page.evaluate("window.seenAt") / 1000 - won_at < 1
        for window in windows:
            expect(window.page).to_have_title(f"borea leads · room {room[:8]}…")

    def test_expiry_is_seen_when_it_happens_and_not_before(
        self, open_window: OpenWindow, client: Client, room: str
    ) -> None:
        win(client, room, "atlas", ttl_seconds=5)
        window = open_window()
        window.page.goto(f"/r/{room}")
        window.goes_live()
        expect(window.page.locator("#leader-title .badge")).to_have_text("Held")
        # A third of five seconds before its end.
        expect(window.page.locator("#leader-title .badge")).to_have_text("Expiring", timeout=6000)
        expect(window.page.locator(".who")).to_have_text("Nobody leads", timeout=6000)

    def test_table_stays_open_and_language_stays_chosen(
        self, open_window: OpenWindow, client: Client, room: str
    ) -> None:
        held = win(client, room, "atlas", ttl_seconds=60)
        page = (window := open_window()).page
        page.goto(f"/r/{room}")
        window.goes_live()
        page.get_by_text("Show as table").click()
        page.get_by_role("radio", name="bash").check()
        client.resign(room, held["leader_token"])
        win(client, room, "borea", ttl_seconds=60)
        expect(page.locator("#terms-table tbody tr")).to_have_count(2)
        assert page.locator("#terms-table").get_attribute("open") is not None
        assert page.get_by_role("radio", name="bash").is_checked()


class TestClock:
    @pytest.mark.parametrize("seconds_off", [10, -10, 3600])
    def test_countdown_is_the_servers_whatever_the_browsers_clock_says(
        self, open_window: OpenWindow, client: Client, room: str, seconds_off: int
    ) -> None:
        win(client, room, "atlas", ttl_seconds=100)
        window = open_window()
        window.expect(JUMPED)
        window.page.clock.install(time=datetime.now().astimezone() + timedelta(seconds=seconds_off))
        window.page.goto(f"/r/{room}")
        window.goes_live()
        window.page.clock.run_for(1100)
        shown = window.page.locator("span[data-until]").inner_text()
        left = Lease.objects.get(name=room).expires_at / 1000 - time.time()
        assert abs(self.seconds(shown) - left) <= 1.5
        word = "fast" if seconds_off > 0 else "slow"
        assert word in window.page.locator("#clock-note").inner_text()

    def test_countdown_that_ends_waits_for_the_server(self, open_window: OpenWindow, client: Client, room: str) -> None:
        win(client, room, "atlas", ttl_seconds=60)
        window = open_window()
        window.expect(JUMPED)
        window.page.clock.install()
        window.page.goto(f"/r/{room}")
        window.goes_live()
        hide(window.page, True)
        window.page.clock.run_for(61_000)
        expect(window.page.locator("span[data-until]")).to_have_text("expired, waiting for confirmation")
        expect(window.page.locator(".who")).to_have_text("atlas")

    @staticmethod
    def seconds(text: str) -> int:
        units = {"min": 60, "s": 1}
        words = text.split()
        return sum(int(number) * units[unit] for number, unit in zip(words[::2], words[1::2], strict=True))


class TestServerGone:
    def test_page_says_so_within_thirty_seconds_and_recovers_by_itself(
        self, open_window: OpenWindow, start_web: Callable[..., Web], room: str
    ) -> None:
        web = start_web()
        with web.client() as client:
            win(client, room, "atlas", ttl_seconds=300)
        window = open_window(web)
        window.expect(f"failed|ERR_|{JUMPED}|htmx:error")
        page = window.page
        page.clock.install()
        page.goto(f"/r/{room}")
        window.goes_live()
        page.evaluate("window.mark = 'the same page'")
        web.kill()
        expect(page.locator("html")).to_have_attribute("data-live", "reconnecting")
        assert not page.locator("#live-banner").is_visible()
        page.clock.run_for(30_000)
        expect(page.locator("html")).to_have_attribute("data-live", "stale")
        expect(page.locator("#live-banner")).to_be_visible()
        expect(page.locator("#live-banner")).to_contain_text("Connection lost")
        expect(page.locator("#state > .stale-tag")).to_be_visible()
        expect(page.locator("#state")).to_have_css("opacity", "0.62")
        Lease.objects.filter(name=room).update(expires_at=F("expires_at") - 300_000)
        web.start()
        page.clock.run_for(60_000)
        window.goes_live()
        expect(page.locator(".who")).to_have_text("Nobody leads")
        expect(page.locator("#live-banner")).to_be_hidden()
        assert page.evaluate("window.mark") == "the same page"
        with web.client() as client:
            assert comes_to(client, (1, 0))

    def test_server_that_is_silent_is_no_calm_one(
        self, open_window: OpenWindow, start_web: Callable[..., Web], room: str
    ) -> None:
        web = start_web()
        window = open_window(web)
        window.expect(f"failed|ERR_|{JUMPED}|htmx:error")
        page = window.page
        page.clock.install()
        page.goto(f"/r/{room}")
        window.goes_live()
        web.pause()
        page.clock.run_for(27_000)
        expect(page.locator("html")).to_have_attribute("data-live", "stale")
        web.resume()
        page.clock.run_for(60_000)
        window.goes_live()

    def test_where_no_stream_can_be_had_the_page_polls(
        self, open_window: OpenWindow, client: Client, room: str
    ) -> None:
        window = open_window()
        window.expect(f"503|Service Unavailable|{JUMPED}")
        page = window.page
        page.clock.install()
        page.route("**/live?*", lambda route: route.fulfill(status=503))
        page.goto(f"/r/{room}")
        for _ in range(4):
            page.clock.run_for(5000)
            page.wait_for_timeout(100)
        expect(page.locator("html")).to_have_attribute("data-live", "polling")
        expect(page.locator("#live-banner")).to_contain_text("refreshing every 5 s")
        win(client, room, "atlas")
        page.clock.run_for(6000)
        expect(page.locator(".who")).to_have_text("atlas")
        page.unroute("**/live?*")
        page.clock.run_for(60_000)
        window.goes_live()


class TestStreams:
    """One for each page that is seen, none for any other."""

    @pytest.fixture
    def web(self, start_web: Callable[..., Web]) -> Web:
        return start_web()

    def test_hidden_tab_holds_none_and_is_right_when_it_is_seen_again(
        self, open_window: OpenWindow, client: Client, room: str
    ) -> None:
        window = open_window()
        window.page.goto(f"/r/{room}")
        window.goes_live()
        assert comes_to(client, (1, 0))
        hide(window.page, True)
        expect(window.page.locator("html")).to_have_attribute("data-live", "paused")
        assert comes_to(client, (0, 0))
        win(client, room, "atlas")
        hide(window.page, False)
        window.goes_live()
        expect(window.page.locator(".who")).to_have_text("atlas")

    def test_pause_holds_none(self, open_window: OpenWindow, client: Client, room: str) -> None:
        window = open_window()
        window.page.goto(f"/r/{room}")
        window.goes_live()
        window.page.keyboard.press("p")
        expect(window.page.locator("#live-pill")).to_have_text("Paused")
        assert comes_to(client, (0, 0))
        window.page.locator("#live-pill").click()
        window.goes_live()

    def test_thirty_pages_leave_none_behind(self, open_window: OpenWindow, client: Client, room: str) -> None:
        window = open_window()
        for number in range(30):
            window.page.goto(f"/r/{room}-{number}")
            window.goes_live()
        window.page.goto("/keyboard")
        assert comes_to(client, (0, 0))

    def test_back_and_forward_go_live_again(self, open_window: OpenWindow, client: Client, room: str) -> None:
        window = open_window()
        for path in (f"/r/{room}", "/keyboard"):
            window.page.goto(path)
        window.page.go_back()
        window.goes_live()
        assert comes_to(client, (1, 0))


class TestRight:
    def test_page_of_who_signed_out_elsewhere_asks_to_sign_in(self, open_window: OpenWindow, user: User) -> None:
        member = join(found_team(), user=user)
        window = open_window(user=user)
        window.page.goto(f"/t/{member.team.slug}")
        window.goes_live()
        other = window.open()
        other.goto("/accounts/logout/")
        other.get_by_role("button", name="Sign Out").click()
        window.page.wait_for_url("**/accounts/login/**", timeout=15_000)
