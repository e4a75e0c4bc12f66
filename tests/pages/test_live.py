"""The stream of a page: who may have it, what it says, and when it ends."""

from __future__ import annotations

import time
from collections.abc import Callable, Iterator
from contextlib import ExitStack
from datetime import timedelta

import psutil
import pytest

from octostore.leases import engine
from octostore.live.pages import PAGES_MAX_PER_READER
from octostore.teams.models import User
from tests.elections.rooms import win
from tests.http import Client
from tests.pages.browser import somebody
from tests.pages.hints import Page
from tests.processes import Web
from tests.teams.cast import found_team, join

ROOM = "pages-room"
Open = Callable[..., Page]


@pytest.fixture
def web(database: str, two_webs: list[Web]) -> Web:
    return two_webs[0]


@pytest.fixture
def client(web: Web) -> Iterator[Client]:
    with web.client() as client:
        yield client


@pytest.fixture
def open_page(web: Web) -> Iterator[Open]:
    """Opens the stream of a page; all are closed after the test."""
    with ExitStack() as stack:
        yield lambda topics, user=None: stack.enter_context(Page(web, topics, user))


class TestRoom:
    def test_anybody_is_told_of_every_change(self, open_page: Open, client: Client) -> None:
        page = open_page(f"room:{ROOM}")
        assert page.headers["content-type"].startswith("text/event-stream")
        assert page.headers["cache-control"] == "no-cache, no-transform"
        first = page.next()
        assert first.event == "hb"
        assert abs(int(first.data) - time.time() * 1000) < 5000
        assert page.next_change() == f"room:{ROOM} 0-0-0"
        term = win(client, ROOM)
        began = page.next_change()
        client.renew(ROOM, term["leader_token"], ttl_seconds=60)
        renewed = page.next_change()
        client.resign(ROOM, term["leader_token"])
        assert len({began, renewed, page.next_change()}) == 3

    def test_end_by_time_is_told_when_it_happens(self, open_page: Open) -> None:
        engine.acquire("elections", ROOM, holder="atlas", ttl=timedelta(milliseconds=700))
        page = open_page(f"room:{ROOM}")
        page.next_change()
        began = time.monotonic()
        page.next_change()
        assert time.monotonic() - began < 1.5

    def test_nothing_of_the_room_is_in_it(self, open_page: Open, client: Client) -> None:
        page = open_page(f"room:{ROOM}")
        page.next_change()
        token = win(client, ROOM, metadata="canary-metadata")["leader_token"]
        said = page.next_change()
        assert token not in said
        assert "canary" not in said
        assert set(said.removeprefix(f"room:{ROOM} ")) <= set("0123456789-")


class TestTeam:
    def test_member_is_told_of_the_team_alone(self, open_page: Open) -> None:
        member = join(found_team(), user=somebody())
        page = open_page(f"team:{member.team.slug}", member.user)
        page.next()
        engine.acquire(f"locks/{found_team().uuid}", "a", holder="atlas", ttl=timedelta(seconds=60))
        engine.acquire("elections", ROOM, holder="atlas", ttl=timedelta(seconds=60))
        with pytest.raises(TimeoutError):
            page.next_change(1.5)

    def test_member_is_told_soon_and_once_of_many_changes(
        self, open_page: Open, web: Web, client: Client, user: User
    ) -> None:
        from tests.locks.cast import issue

        member = join(found_team(), user=user)
        page = open_page(f"team:{member.team.slug}", user)
        page.next()
        key = issue(member.team, "locks")
        began = time.monotonic()
        for number in range(10):
            client.post(f"/locks/lock-{number}/acquire", headers={"Authorization": f"Bearer {key}"}, json={})
        assert page.next_change().startswith(f"team:{member.team.slug} ")
        assert time.monotonic() - began < 3

    @pytest.mark.parametrize("slug", ["of-others", "of-nobody"])
    def test_foreign_and_missing_teams_are_the_same(self, open_page: Open, user: User, slug: str) -> None:
        team = found_team().slug if slug == "of-others" else slug
        page = open_page(f"team:{team}", user)
        assert page.status == 404

    def test_nobody_in_particular_must_sign_in(self, open_page: Open) -> None:
        assert open_page(f"team:{found_team().slug}").status == 401


class TestOps:
    def test_staff_are_told_of_everything(self, open_page: Open, client: Client, staff: User) -> None:
        page = open_page("ops", staff)
        page.next()
        win(client, ROOM)
        assert page.next_change().startswith("ops ")

    def test_nobody_else_learns_that_it_exists(self, open_page: Open, user: User) -> None:
        assert open_page("ops", user).status == 404
        assert open_page("ops").status == 401


class TestEnd:
    """Within 15 s of what took the right away."""

    def test_by_signing_out(self, open_page: Open) -> None:
        member = join(found_team(), user=somebody())
        page = open_page(f"team:{member.team.slug}", member.user)
        page.next()
        page.browser.session.flush()
        assert self.farewell(page) == '{"reason":"revoked"}'

    def test_by_leaving_the_team(self, open_page: Open) -> None:
        member = join(found_team(), user=somebody())
        page, room = open_page(f"team:{member.team.slug},room:{ROOM}", member.user), open_page(f"room:{ROOM}")
        page.next()
        member.delete()
        assert self.farewell(page) == '{"reason":"revoked"}'
        room.next()
        assert room.next_change()

    def test_by_another_password_or_the_end_of_the_account(self, open_page: Open) -> None:
        for change in ({"is_active": False}, {"password": "!other"}):
            member = join(found_team(), user=somebody())
            page = open_page(f"team:{member.team.slug}", member.user)
            page.next()
            User.objects.filter(id=member.user_id).update(**change)
            assert self.farewell(page) == '{"reason":"revoked"}'

    def test_by_being_staff_no_more(self, open_page: Open, staff: User) -> None:
        page = open_page("ops", staff)
        page.next()
        User.objects.filter(id=staff.id).update(is_staff=False)
        assert self.farewell(page) == '{"reason":"revoked"}'

    @staticmethod
    def farewell(page: Page) -> str:
        said = page.next_of("bye", 15).data
        with pytest.raises(EOFError):
            page.next()
        return said


class TestLimits:
    def test_one_reader_has_so_many_and_is_told_to_wait_beyond(self, open_page: Open, user: User) -> None:
        join(team := found_team(), user=user)
        pages = [open_page(f"team:{team.slug}", user) for _ in range(PAGES_MAX_PER_READER)]
        one_more = open_page(f"team:{team.slug}", user)
        assert one_more.status == 429
        assert int(one_more.headers["retry-after"]) > 0
        pages[0].close()
        self.until(lambda: open_page(f"team:{team.slug}", user).status == 200)

    def test_open_pages_cost_no_thread_and_no_connection(self, start_web: Callable[..., Web], user: User) -> None:
        web = start_web()
        join(team := found_team(), user=user)
        with ExitStack() as stack:
            stack.enter_context(Page(web, f"team:{team.slug}", user)).next()
            before = self.held(web)
            pages = [stack.enter_context(Page(web, f"team:{team.slug}", user)) for _ in range(5)]
            assert all(page.next() for page in pages)
            threads, connections = self.held(web)
            assert threads <= before[0] + 1
            assert connections <= before[1] + 5

    @staticmethod
    def held(web: Web) -> tuple[int, int]:
        process = psutil.Process(web.pid)
        return process.num_threads(), len(process.net_connections("tcp"))

    @staticmethod
    def until(condition: Callable[[], bool], seconds: float = 5) -> None:
        deadline = time.monotonic() + seconds
        while not condition():
            assert time.monotonic() < deadline
            time.sleep(0.05)

    def test_beats_come_every_ten_seconds_whatever_else_is_said(self, open_page: Open, client: Client) -> None:
        page = open_page(f"room:{ROOM}")
        first = page.next()
        token = win(client, ROOM, ttl_seconds=60)["leader_token"]
        deadline = time.monotonic() + 13
        while (hint := page.next(deadline - time.monotonic())).event != "hb":
            client.renew(ROOM, token)
            time.sleep(0.2)
        assert 9.5 < hint.at - first.at < 12.5


class TestBadTopics:
    @pytest.mark.parametrize(
        "topics", ["", "room:", "room:short", "rooms", "team:", "ops:", "ops,", ",".join(["ops"] * 9)]
    )
    def test_are_refused(self, open_page: Open, staff: User, topics: str) -> None:
        assert open_page(topics, staff).status in {400, 404}

    def test_switched_off_rooms_have_none(self, start_web: Callable[..., Web]) -> None:
        web = start_web(PUBLIC_ELECTIONS="false")
        with Page(web, f"room:{ROOM}") as page:
            assert page.status == 403
