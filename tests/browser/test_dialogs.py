"""What asks whether to do something: over the page where script runs, and shut again without a trace."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from uuid import uuid4

import pytest
from playwright.sync_api import Locator, Page, expect

from tests.browser.accessibility import complaints
from tests.browser.conftest import OpenPage
from tests.browser.scene import ROOM
from tests.browser.site import Site
from tests.browser.test_teams import goes_live
from tests.locks.cast import Worker
from tests.processes import Web

pytestmark = pytest.mark.only("sqlite")

# Where it is, and which link asks; one of several is the last.
ASKING = {
    "lock": ("/t/harbour/locks/deploy/production", "Force-release"),
    "session": ("/t/harbour/sessions/{number}", "Terminate"),
    "key": ("/t/harbour/keys", "Revoke"),
    "member": ("/t/harbour/members", "Remove"),
    "oneself": ("/t/harbour/members", "Leave"),
    "webhook": ("/t/harbour/webhooks/{webhook}", "Delete"),
    "deliveries": ("/t/harbour/webhooks/{webhook}", "Send again what failed"),
    "room": (f"/ops/rooms/{ROOM}", "Force-vacate"),
}
REFUSED = "status of 4(09|22)"


@pytest.fixture
def page(open_page: OpenPage) -> Page:
    return open_page(expected=(REFUSED,))


@pytest.fixture
def worker(site: Site) -> Iterator[Worker]:
    with site.worker() as one:
        yield one


@pytest.fixture
def lock(worker: Worker) -> str:
    name = f"dialogs/{uuid4().hex}"
    worker.hold(name, holder="stuck-1", ttl_seconds=600)
    return name


def ask(page: Page, address: str, link: str) -> Locator:
    """The dialog, once the link has opened it."""
    page.goto(address)
    page.get_by_role("link", name=link).last.click()
    dialog = page.get_by_role("dialog")
    expect(dialog).to_be_visible()
    return dialog


def force_release(dialog: Locator, name: str) -> None:
    dialog.get_by_label("The lock's name").fill(name)
    dialog.get_by_label("Reason").fill("its host is gone")
    dialog.get_by_role("button", name="End this term").click()


@pytest.mark.parametrize("asking", ASKING)
def test_opens_over_the_page_for_everybody(page: Page, site: Site, asking: str) -> None:
    address, link = ASKING[asking]
    dialog = ask(page, address.format(**site.scene.parts[""]), link)
    title = page.title()
    expect(dialog).to_have_accessible_name(dialog.get_by_role("heading").first.inner_text())
    assert page.url.endswith(address.format(**site.scene.parts[""]))
    assert complaints(page) == []
    assert page.title() == title
    assert dialog.evaluate("one => one.matches(':focus-within')")


class TestLeaving:
    @pytest.mark.parametrize("way", ["Escape", "Leave it"])
    def test_gives_the_focus_back_and_does_nothing(self, page: Page, worker: Worker, lock: str, way: str) -> None:
        dialog = ask(page, f"/t/harbour/locks/{lock}", "Force-release")
        expect(dialog.get_by_role("heading")).to_be_focused()
        if way == "Escape":
            page.keyboard.press("Escape")
        else:
            dialog.get_by_role("link", name=way).click()
        expect(dialog).to_be_hidden()
        expect(page.get_by_role("link", name="Force-release")).to_be_focused()
        assert page.url.endswith(lock)
        assert worker.lock(lock)["status"] == "held"

    def test_is_no_end_of_it(self, page: Page, lock: str) -> None:
        dialog = ask(page, f"/t/harbour/locks/{lock}", "Force-release")
        dialog.get_by_label("Reason").fill("half of a")
        page.keyboard.press("Escape")
        page.get_by_role("link", name="Force-release").press("Enter")
        expect(dialog.get_by_label("Reason")).to_have_value("")


class TestSending:
    def test_does_it_and_says_so_on_the_page(self, page: Page, lock: str) -> None:
        force_release(ask(page, f"/t/harbour/locks/{lock}", "Force-release"), lock)
        expect(page.locator(".messages")).to_contain_text("Ended term")
        expect(page.locator("#state")).to_contain_text("its host is gone")
        expect(page.get_by_role("dialog")).to_be_hidden()

    def test_what_is_refused_is_told_where_it_was_written(self, page: Page, lock: str) -> None:
        dialog = ask(page, f"/t/harbour/locks/{lock}", "Force-release")
        force_release(dialog, "another/one")
        expect(dialog.locator("#errors")).to_be_focused()
        expect(dialog.locator("#errors")).to_contain_text("That is something else")
        expect(dialog.get_by_label("Reason")).to_have_value("its host is gone")
        assert page.url.endswith(lock)
        assert complaints(page) == []
        force_release(dialog, lock)
        expect(page.locator(".messages")).to_contain_text("Ended term")

    def test_a_term_that_is_over_meanwhile_is_told_and_the_next_can_be_looked_at(
        self, page: Page, worker: Worker, lock: str
    ) -> None:
        dialog = ask(page, f"/t/harbour/locks/{lock}", "Force-release")
        worker.revoke(lock, worker.lock(lock)["fencing_token"], delay_seconds=0)
        worker.hold(lock, holder="next-1", ttl_seconds=600)
        force_release(dialog, lock)
        expect(dialog.get_by_role("heading")).to_have_text("That term is over")
        expect(dialog.get_by_role("heading")).to_be_focused()
        dialog.get_by_role("link", name="Look at the new term").click()
        expect(dialog).to_contain_text("next-1")
        expect(dialog.get_by_label("Reason")).to_have_value("its host is gone")
        dialog.get_by_role("link", name="Leave it").click()
        assert worker.lock(lock)["status"] == "held"

    def test_what_goes_wrong_is_told_in_front(self, open_page: OpenPage, lock: str) -> None:
        page = open_page(expected=("status of 503",))
        dialog = ask(page, f"/t/harbour/locks/{lock}", "Force-release")
        page.route("**/revoke", lambda route: route.fulfill(status=503))
        force_release(dialog, lock)
        expect(dialog.get_by_role("status")).to_contain_text("That did not work: 503")
        page.keyboard.press("Escape")
        expect(page.locator("body > #toasts")).to_contain_text("503")


class TestConnectionLost:
    def test_is_told_in_the_dialog_too(
        self, open_page: OpenPage, start: Callable[[dict[str, str]], Web], site: Site, lock: str
    ) -> None:
        web = start(site.environment)
        page = open_page(at=web, expected=("failed|ERR_|htmx:error",))
        page.clock.install()
        page.goto(f"/t/harbour/locks/{lock}")
        goes_live(page)
        page.get_by_role("link", name="Force-release").click()
        dialog = page.get_by_role("dialog")
        expect(dialog.get_by_label("Reason")).to_be_visible()
        told = dialog.get_by_text("may be out of date")
        expect(told).to_be_hidden()
        web.pause()
        page.clock.run_for(27_000)
        expect(told).to_be_visible()
        assert dialog.evaluate("one => getComputedStyle(one).opacity") == "1"
        expect(dialog.get_by_role("button", name="End this term")).to_be_enabled()
        assert complaints(page) == []
        web.resume()
        page.clock.run_for(60_000)
        expect(told).to_be_hidden()
