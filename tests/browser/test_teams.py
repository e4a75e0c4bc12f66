"""A team's pages in a browser: they follow, keep what people are at, and do everything without scripts too."""

from __future__ import annotations

import re
from collections.abc import Iterator
from uuid import uuid4

import pytest
from playwright.sync_api import Page, expect

from tests.browser.conftest import OpenPage
from tests.browser.site import Site
from tests.locks.cast import Worker

pytestmark = pytest.mark.only("sqlite")


@pytest.fixture
def worker(site: Site) -> Iterator[Worker]:
    with site.worker() as one:
        yield one


@pytest.fixture
def prefix() -> str:
    return f"browser-{uuid4().hex[:8]}/"


def goes_live(page: Page) -> None:
    expect(page.locator("html")).to_have_attribute("data-live", "live", timeout=15_000)


class TestWhatPeopleAreAt:
    def test_typing_in_the_search_survives_fifty_hints(self, page: Page, worker: Worker, prefix: str) -> None:
        page.goto("/t/harbour/locks")
        goes_live(page)
        search = page.locator("#id_prefix")
        search.focus()
        for number in range(50):
            worker.hold(f"{prefix}{number:02}")
            if number < len(prefix):
                page.keyboard.type(prefix[number])
        expect(search).to_have_value(prefix)
        expect(search).to_be_focused()
        expect(page.locator("#rows tbody tr")).to_have_count(50)
        expect(page).to_have_url(re.compile(f"prefix={prefix.replace('/', '(/|%2F)')}"))

    def test_a_focused_row_keeps_the_focus_when_rows_move(self, page: Page, worker: Worker, prefix: str) -> None:
        worker.hold(f"{prefix}m")
        page.goto(f"/t/harbour/locks?prefix={prefix}")
        goes_live(page)
        link = page.locator("#rows [data-row]")
        link.focus()
        for name in "abc":
            worker.hold(f"{prefix}{name}")
        expect(page.locator("#rows tbody tr")).to_have_count(4)
        expect(page.locator("#rows tbody tr").nth(3).locator("[data-row]")).to_be_focused()

    def test_filters_survive_going_back(self, page: Page) -> None:
        page.goto("/t/harbour/locks?prefix=shard/")
        page.locator("#rows [data-row]").first.click()
        page.go_back()
        expect(page.locator("#id_prefix")).to_have_value("shard/")
        expect(page.locator("#rows")).not_to_contain_text("deploy/")


class TestFollowing:
    def test_a_lock_that_changes_hands_does_so_on_its_page(self, page: Page, worker: Worker, prefix: str) -> None:
        name = f"{prefix}one"
        held = worker.hold(name, holder="atlas", ttl_seconds=60)
        page.goto(f"/t/harbour/locks/{name}")
        goes_live(page)
        expect(page.locator("#state")).to_contain_text("atlas")
        worker.release(name, held["lease_id"])
        worker.hold(name, holder="borea", ttl_seconds=60)
        expect(page.locator("#state")).to_contain_text("borea")

    def test_staff_see_a_room_appear(self, page: Page, site: Site) -> None:
        room = f"room-{uuid4().hex[:12]}"
        page.goto(f"/ops/rooms?q={room}")
        goes_live(page)
        with site.rooms() as client:
            client.campaign(room, "atlas")
        expect(page.locator("#rows")).to_contain_text("atlas")


class TestWithoutScripts:
    @pytest.fixture
    def page(self, open_page: OpenPage) -> Page:
        return open_page(scripts=False)

    def test_locks_are_filtered(self, page: Page) -> None:
        page.goto("/t/harbour/locks")
        page.locator("#id_prefix").fill("shard/1")
        page.get_by_role("button", name="Apply").click()
        expect(page.locator("#rows tbody tr")).to_have_count(10)

    def test_a_session_is_terminated(self, page: Page, worker: Worker, prefix: str) -> None:
        session = worker.begin(ttl_seconds=300)
        worker.hold(f"{prefix}one", session_id=session, ephemeral=True)
        page.goto(f"/t/harbour/locks/{prefix}one")
        page.locator("main a[href*='/sessions/']").first.click()
        page.get_by_role("link", name="Terminate").click()
        for field in page.locator("main input[type=text][required], main textarea").all():
            field.fill("its host is gone")
        page.locator("main form button").first.click()
        assert worker.lock(f"{prefix}one")["status"] == "free"

    def test_a_key_is_rotated_and_revoked(self, page: Page) -> None:
        page.goto("/t/harbour/keys/new")
        page.get_by_label("Name").fill(name := f"key-{uuid4().hex[:8]}")
        page.get_by_role("button", name="Make the key").click()
        first = page.locator("input[data-once]").input_value()
        for verb in ("rotate", "revoke"):
            page.goto(f"/t/harbour/keys/{first[4:16]}/{verb}")
            for field in page.locator("main input[type=text][required]").all():
                field.fill(name)
            page.locator("main form button").first.click()
        page.goto("/t/harbour/keys?show=over")
        expect(page.locator("tr", has_text=first[4:16])).to_contain_text("Revoked")

    def test_a_webhook_is_switched_off_and_deleted(self, page: Page) -> None:
        page.goto("/t/harbour/webhooks/new")
        page.get_by_label("URL").fill("https://gone.example.com/hook")
        page.get_by_label("acquired").check()
        page.get_by_label("Locks").fill("nothing/*")
        page.locator("main form button").first.click()
        page.get_by_role("link", name="I have stored it").click()
        page.get_by_role("link", name="Settings").click()
        page.get_by_label("Make calls").uncheck()
        page.get_by_role("button", name="Change it").click()
        expect(page.locator("main")).to_contain_text("switched off")
        page.get_by_role("link", name="Delete").click()
        for field in page.locator("main input[type=text]").all():
            field.fill("gone.example.com")
        page.locator("main form button").first.click()
        page.goto("/t/harbour/webhooks")
        expect(page.locator("main")).not_to_contain_text("gone.example.com")

    def test_a_delivery_is_sent_again(self, page: Page, site: Site) -> None:
        parts = site.scene.parts[""]
        page.goto(f"/t/harbour/webhooks/{parts['webhook']}/deliveries/{parts['delivery']}")
        page.get_by_role("button", name="Redeliver").click()
        expect(page.locator("#delivery")).to_contain_text("Retrying")

    def test_a_room_is_vacated(self, page: Page, site: Site) -> None:
        room = f"room-{uuid4().hex[:12]}"
        with site.rooms() as client:
            client.campaign(room, "atlas")
            page.goto(f"/ops/rooms/{room}/vacate")
            page.get_by_label("The last four characters of the id").fill(room[-4:])
            page.get_by_label("Reason").fill("its host is gone")
            page.get_by_role("button", name="End this term").click()
            assert client.get(f"/elections/{room}").json()["status"] == "vacant"
