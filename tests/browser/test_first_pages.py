"""What a visitor does first: lets a leader fall, pastes, goes through the quick start, chooses a look."""

from __future__ import annotations

import pytest
from playwright.sync_api import expect

from octostore.pages.joining import snippets
from tests.browser.conftest import OpenWindow
from tests.elections.rooms import win
from tests.http import Client
from tests.processes import Web
from tests.watch.test_gauges import comes_to

pytestmark = pytest.mark.only("sqlite")


class TestDemo:
    def test_stalled_leader_falls_and_the_other_candidate_takes_over(
        self, open_window: OpenWindow, client: Client
    ) -> None:
        window = open_window()
        page = window.page
        page.goto("/")
        assert page.locator("html[data-live]").count() == 0
        page.get_by_role("button", name="Run two candidates").click()
        window.goes_live()
        expect(page.locator("#worker-a")).to_contain_text("leads term")
        expect(page.locator("#worker-b")).to_contain_text("follows worker-a")
        expect(page.locator("#demo-room .who")).to_have_text("worker-a")
        room = page.locator("#demo-link").get_attribute("href")
        assert room
        first = client.get(f"/elections/{room.removeprefix('/r/')}").json()["leader"]
        page.get_by_role("button", name="Stall the leader").click()
        expect(page.locator("#worker-a")).to_contain_text("stalled")
        expect(page.locator("#worker-b")).to_contain_text("leads term", timeout=12_000)
        expect(page.locator("#demo-room .who")).to_have_text("worker-b")
        leader = client.get(f"/elections/{room.removeprefix('/r/')}").json()["leader"]
        assert leader["candidate_id"] == "worker-b"
        assert leader["term"] > first["term"]

    def test_refusal_is_told(self, open_window: OpenWindow) -> None:
        window = open_window()
        window.expect("429")
        page = window.page
        page.route("**/elections", lambda route: route.fulfill(status=429, json={"error": "Too many requests"}))
        page.goto("/")
        page.get_by_role("button", name="Run two candidates").click()
        expect(page.locator("#worker-a")).to_have_text("Too many requests")


class TestQuickStart:
    def test_steps_are_ticked_off_as_they_happen(self, open_window: OpenWindow, client: Client) -> None:
        window = open_window()
        page = window.page
        page.goto("/start")
        page.get_by_role("button", name="Start").click()
        window.goes_live()
        room = page.url.rpartition("/")[2]
        expect(page.locator("#steps > .done")).to_have_count(1)
        held = win(client, room, "worker-a", ttl_seconds=60)
        expect(page.locator("#steps > .done")).to_have_count(2)
        client.resign(room, held["leader_token"])
        win(client, room, "worker-b", ttl_seconds=60)
        expect(page.locator("#steps > .done")).to_have_count(3)
        expect(page).to_have_title("worker-b leads · Quick start")
        page.reload()
        expect(page.locator("#steps > .done")).to_have_count(3)


class TestSnippets:
    def test_typescript_leads(self, open_window: OpenWindow, client: Client, web: Web, room: str) -> None:
        """As the engine runs it once its types are erased."""
        [program] = [one.text for one in snippets(web.url, room) if one.slug == "typescript"]
        erased = program.replace(": number", "").replace(": string", "").replace(": object", "")
        page = open_window().page
        page.goto("/keyboard")
        said = []
        page.on("console", lambda message: said.append(message.text))
        page.evaluate(f"void (async () => {{ {erased} }})()")
        with page.expect_console_message(lambda message: message.text.startswith("leading term")):
            pass
        assert client.room(room).json()["leader"]["candidate_id"] == "worker-b"

    def test_copy_brings_what_is_shown(self, open_window: OpenWindow, room: str) -> None:
        window = open_window(permissions=["clipboard-read", "clipboard-write"])
        page = window.page
        page.goto(f"/r/{room}")
        page.get_by_role("radio", name="Python").check()
        page.get_by_role("button", name="Copy Python").click()
        expect(page.locator("#announce")).to_have_text("Copied")
        copied = page.evaluate("navigator.clipboard.readText()")
        assert copied.startswith("import json")
        assert room in copied


class TestKeys:
    def test_go_where_they_say(self, open_window: OpenWindow) -> None:
        page = open_window().page
        page.goto("/")
        page.keyboard.press("?")
        page.wait_for_url("**/keyboard")
        page.keyboard.press("t")
        expect(page.locator("html")).to_have_attribute("data-theme", "light")
        page.keyboard.press("t")
        expect(page.locator("html")).to_have_attribute("data-theme", "dark")

    def test_can_be_switched_off(self, open_window: OpenWindow) -> None:
        page = open_window().page
        page.goto("/keyboard")
        page.get_by_role("button", name="Off").click()
        page.wait_for_selector("html[data-keys=off]")
        page.keyboard.press("t")
        assert page.locator("html[data-theme]").count() == 0

    def test_are_letters_inside_of_fields(self, open_window: OpenWindow) -> None:
        page = open_window().page
        page.goto("/accounts/login/")
        page.get_by_label("Email").press_sequentially("t?p")
        assert page.get_by_label("Email").input_value() == "t?p"
        assert page.url.endswith("/accounts/login/")

    def test_skip_link_comes_first_and_leads_to_the_content(self, open_window: OpenWindow) -> None:
        page = open_window().page
        page.goto("/keyboard")
        page.keyboard.press("Tab")
        expect(page.get_by_text("Skip to the content")).to_be_focused()
        page.keyboard.press("Enter")
        expect(page.locator("#main")).to_be_focused()


class TestTimes:
    def test_local_ones_are_the_browsers(self, open_window: OpenWindow, client: Client, room: str) -> None:
        win(client, room, ttl_seconds=60)
        page = open_window(timezone_id="Asia/Tokyo", locale="en-GB").page
        page.goto(f"/r/{room}")
        page.get_by_role("button", name="Local").click()
        page.wait_for_url(f"**/r/{room}")
        shown = page.locator("time[data-local]").first
        begin = client.get(f"/elections/{room}/terms").json()["terms"][0]["began_at"]
        expected = page.evaluate("(at) => new Date(at).toLocaleString()", begin)
        assert shown.inner_text() == expected


def test_leaving_the_demo_leaves_no_stream(open_window: OpenWindow, client: Client) -> None:
    window = open_window()
    window.page.goto("/")
    window.page.get_by_role("button", name="Run two candidates").click()
    window.goes_live()
    window.page.goto("/keyboard")
    assert comes_to(client, (0, 0))
