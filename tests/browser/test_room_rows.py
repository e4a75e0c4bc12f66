"""The list of all rooms: rows stay where they are for whoever is at them, and tell what is new all the same."""

from __future__ import annotations

import re
from collections.abc import Iterator
from uuid import uuid4

import pytest
from playwright.sync_api import Locator, Page, expect

from tests.browser.accessibility import complaints
from tests.browser.conftest import OpenPage
from tests.browser.site import Site
from tests.browser.test_teams import goes_live
from tests.elections.rooms import win
from tests.http import Client

pytestmark = pytest.mark.only("sqlite")

# Every text that assistive technology is told to say.
NOTE_WHAT_IS_SAID = """() => {
    window.said = [];
    new MutationObserver(() => window.said.push(document.getElementById("announce").textContent))
        .observe(document.getElementById("announce"), { childList: true, characterData: true, subtree: true });
}"""


class Rooms:
    """Three of them, the one to expire first above, on a page that follows."""

    def __init__(self, page: Page, client: Client) -> None:
        self.page, self._client = page, client
        self._prefix = f"rows-{uuid4().hex[:10]}-"
        self._led = {name: self.lead(name, minutes) for name, minutes in (("a", 10), ("b", 20), ("c", 30))}
        page.goto(f"/ops/rooms?q={self._prefix}")
        goes_live(page)
        assert self.order() == "abc"

    @property
    def button(self) -> Locator:
        return self.page.get_by_role("button", name="re-sort")

    def row(self, name: str) -> Locator:
        return self.page.locator("#rows tbody tr", has_text=f"{self._prefix}{name}")

    def order(self) -> str:
        return "".join(text[-1] for text in self.page.locator("#rows tbody th a").all_inner_texts())

    def lead(self, name: str, minutes: int) -> str:
        return str(win(self._client, f"{self._prefix}{name}", "atlas", ttl_seconds=60 * minutes)["leader_token"])

    def renew(self, name: str, minutes: int) -> None:
        self._client.renew(f"{self._prefix}{name}", self._led[name], ttl_seconds=60 * minutes)

    def resign(self, name: str) -> None:
        self._client.resign(f"{self._prefix}{name}", self._led[name])

    def hint(self) -> None:
        """Something happens elsewhere."""
        win(self._client, f"elsewhere-{uuid4().hex[:12]}", "atlas")


@pytest.fixture
def rooms(page: Page, site: Site) -> Iterator[Rooms]:
    with site.rooms() as client:
        yield Rooms(page, client)


class TestPointer:
    def test_among_the_rows_holds_their_order_and_not_what_they_tell(self, page: Page, rooms: Rooms) -> None:
        rooms.row("b").hover()
        rooms.renew("a", 40)
        expect(rooms.button).to_have_text("1 update, re-sort")
        expect(rooms.row("a")).to_contain_text(re.compile("39 min|40 min"))
        assert rooms.order() == "abc"

    def test_that_leaves_lets_the_next_refresh_sort(self, page: Page, rooms: Rooms) -> None:
        rooms.row("b").hover()
        rooms.renew("a", 40)
        expect(rooms.button).to_be_visible()
        page.mouse.move(1, 1)
        rooms.hint()
        expect(rooms.button).to_be_hidden()
        assert rooms.order() == "bca"

    def test_sorts_by_the_button(self, page: Page, rooms: Rooms) -> None:
        rooms.row("b").hover()
        rooms.renew("a", 40)
        rooms.button.click()
        expect(rooms.button).to_be_hidden()
        assert rooms.order() == "bca"

    def test_does_not_hold_what_a_filter_asks_for(self, page: Page, rooms: Rooms) -> None:
        rooms.row("b").hover()
        rooms.renew("a", 40)
        expect(rooms.button).to_be_visible()
        page.locator("#id_sort").select_option("newest")
        expect(rooms.button).to_be_hidden()
        assert rooms.order() == "cba"


class TestFocus:
    def test_holds_rows_that_come_and_those_that_go(self, page: Page, rooms: Rooms) -> None:
        rooms.row("c").get_by_role("link").focus()
        rooms.lead("d", 5)
        rooms.resign("b")
        expect(rooms.button).to_have_text("2 updates, re-sort")
        expect(rooms.row("b")).to_have_class("gone")
        assert rooms.order() == "abc"
        expect(rooms.row("c").get_by_role("link")).to_be_focused()
        # The last of them came back.
        rooms.lead("b", 20)
        expect(rooms.button).to_have_text("1 update, re-sort")
        expect(rooms.row("b")).not_to_have_class("gone")

    def test_reaches_the_button_and_comes_back_to_the_rows(self, page: Page, rooms: Rooms) -> None:
        rooms.row("a").get_by_role("link").focus()
        rooms.lead("d", 5)
        expect(rooms.button).to_be_visible()
        for _ in range(2):
            page.keyboard.press("Shift+Tab")
        expect(rooms.button).to_be_focused()
        rooms.hint()
        rooms.lead("e", 50)
        expect(rooms.button).to_have_text("2 updates, re-sort")
        expect(rooms.button).to_be_focused()
        page.keyboard.press("Enter")
        expect(rooms.button).to_be_hidden()
        assert rooms.order() == "dabce"
        expect(page.get_by_role("region", name="Rooms")).to_be_focused()

    def test_is_told_once_why_nothing_moves(self, page: Page, rooms: Rooms) -> None:
        page.evaluate(NOTE_WHAT_IS_SAID)
        rooms.row("a").get_by_role("link").focus()
        for number, name in enumerate("def"):
            rooms.lead(name, 5)
            expect(rooms.button).to_have_text(re.compile(f"^{number + 1} update"))
        [said] = page.evaluate("window.said")
        assert said.startswith("Rows keep their places")

    def test_among_rows_is_for_everybody(self, page: Page, rooms: Rooms) -> None:
        rooms.row("a").get_by_role("link").focus()
        rooms.resign("b")
        rooms.lead("d", 5)
        expect(rooms.button).to_have_text("2 updates, re-sort")
        assert complaints(page) == []
        expect(rooms.button).to_be_visible()


class TestWithoutScripts:
    def test_there_is_nothing_to_press(self, open_page: OpenPage) -> None:
        page = open_page(scripts=False)
        page.goto("/ops/rooms")
        expect(page.locator("#resort")).to_be_hidden()
        expect(page.locator("#rows tbody tr").first).to_be_visible()
