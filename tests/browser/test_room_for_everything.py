"""Nothing is squeezed or cut: names as long as they may be, and teams that have nothing yet."""

from __future__ import annotations

from uuid import uuid4

import pytest

from tests.browser.accessibility import complaints
from tests.browser.conftest import OpenPage
from tests.browser.site import Site

pytestmark = pytest.mark.only("sqlite")

# Cells of cards that are narrower than a word, and cells whose content reaches into the next one.
_SQUEEZED = """
() => [...document.querySelectorAll(".cards td, .cards tbody th")]
  .filter((cell) => cell.offsetWidth && (cell.offsetWidth < 100 || cell.scrollWidth > cell.clientWidth + 1))
  .map((cell) => `${cell.offsetWidth}: ${cell.outerHTML.slice(0, 120)}`)
"""
_CUT = """
() => [...document.querySelectorAll(".cards td.nowrap")]
  .filter((cell) => cell.scrollWidth > cell.clientWidth).map((cell) => cell.textContent.trim())
"""


@pytest.mark.parametrize("part", ["", "/locks", "/sessions", "/webhooks", "/keys", "/members", "/usage", "/audit"])
def test_team_without_anything_is_shown_on_every_screen(open_page: OpenPage, part: str) -> None:
    page = open_page()
    page.goto(f"/t/empty{part}")
    assert complaints(page) == []


class TestLongNames:
    @pytest.fixture
    def lock(self, site: Site) -> str:
        name = f"long/{uuid4().hex}{'x' * 32}/{'y' * 64}"
        with site.worker() as worker:
            for _ in range(6):
                held = worker.hold(name, holder="H" * 64, metadata="<b>" + "w" * 500, ttl_seconds=3600)
                worker.release(name, held["lease_id"])
            worker.hold(name, holder="H" * 64, metadata="<b>" + "w" * 500, ttl_seconds=3600)
        return name

    @pytest.fixture
    def addresses(self, site: Site, lock: str) -> list[str]:
        room = f"{'R' * 32}{uuid4().hex}"
        with site.rooms() as client:
            client.campaign(room, "C" * 64, metadata="w" * 500, ttl_seconds=3600)
        webhooks = f"/t/harbour/webhooks/{site.scene.parts['']['webhook']}"
        delivery = f"{webhooks}/deliveries/{site.scene.parts['']['delivery']}"
        pages = ["/t/harbour/locks?status=all", f"/t/harbour/locks/{lock}", "/t/harbour/webhooks", webhooks, delivery]
        return [
            *pages,
            "/t/harbour/audit",
            "/t/harbour/usage",
            "/t/harbour/sessions",
            f"/ops/rooms/{room}",
            f"/r/{room}",
        ]

    @pytest.mark.parametrize("times", ["relative", "utc"])
    def test_leave_room_for_the_others_on_a_phone(
        self, open_page: OpenPage, site: Site, addresses: list[str], times: str
    ) -> None:
        page = open_page(width="narrow")
        page.context.add_cookies([{"name": "octostore_times", "value": times, "url": site.url}])
        for address in addresses:
            page.goto(address)
            assert page.evaluate(_SQUEEZED) == [], address

    def test_reach_into_nothing_beside_them(self, open_page: OpenPage, addresses: list[str]) -> None:
        page = open_page()
        for address in addresses:
            page.goto(address)
            assert page.evaluate(_CUT) == [], address


def test_newest_of_a_wide_picture_is_seen_first(open_page: OpenPage, site: Site) -> None:
    page = open_page(width="narrow")
    page.goto(f"/r/{site.scene.parts['']['election_id']}")
    now = page.locator(".terms text", has_text="now").bounding_box()
    assert now
    assert 0 < now["x"] < now["x"] + now["width"] < 390
