"""How many streams and waits a client, and a process, may have open."""

from __future__ import annotations

import time
from collections.abc import Iterator
from contextlib import ExitStack, contextmanager
from itertools import count

import pytest

from tests.elections.rooms import told, win
from tests.http import Client
from tests.processes import Web
from tests.watch.waiter import Waiter
from tests.watch.watcher import Watcher

PER_CLIENT, IN_ALL, BUDGET = 3, 5, 20


@pytest.fixture(scope="module")
def limited(database_url: str, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Web]:
    """One process behind a proxy, which the tests play, for a few streams and a small budget."""
    environment = {
        "DATABASE_URL": database_url,
        "OCTOSTORE_STREAMS_MAX_PER_CLIENT": str(PER_CLIENT),
        "OCTOSTORE_STREAMS_MAX": str(IN_ALL),
        "OCTOSTORE_TRUSTED_PROXY_HOPS": "1",
        "OCTOSTORE_ELECTION_REQUESTS_PER_MINUTE": str(BUDGET),
    }
    with Web(tmp_path_factory.mktemp("limited"), environment) as web:
        yield web


@pytest.fixture
def web(database: str, limited: Web) -> Web:
    return limited


numbers = count(1)


@pytest.fixture
def me() -> int:
    """The number of a client that has asked for nothing yet."""
    return next(numbers)


def address(number: int) -> str:
    return f"X-Forwarded-For: 192.0.2.{number}\r\n"


@contextmanager
def streams(web: Web, room: str, number: int, how_many: int) -> Iterator[list[Watcher]]:
    """So many streams of client `number`, asked for one after the other."""
    with ExitStack() as stack:
        watchers = []
        for _ in range(how_many):
            watchers.append(stack.enter_context(Watcher(web.port, f"/elections/{room}/watch", headers=address(number))))
            assert watchers[-1].status
        yield watchers


def statuses(watchers: list[Watcher]) -> list[int]:
    return [watcher.status for watcher in watchers]


def all_free(web: Web, room: str, number: int) -> None:
    """Fails unless client `number` soon has no seat taken."""
    deadline = time.monotonic() + 5
    while True:
        with streams(web, room, number, PER_CLIENT) as watchers:
            found = statuses(watchers)
        if set(found) == {200}:
            return
        assert time.monotonic() < deadline, found


class TestStreams:
    def test_are_limited_for_each_client_and_in_all(self, web: Web, room: str, me: int) -> None:
        with web.client() as client, streams(web, room, me, PER_CLIENT) as first:
            assert statuses(first) == [200] * PER_CLIENT
            refused = client.get(f"/elections/{room}/watch", headers={"X-Forwarded-For": f"192.0.2.{me}"})
            assert told(refused) == (429, "rate_limited")
            assert refused.headers["retry-after"] == "5"
            with (
                streams(web, room, next(numbers), IN_ALL - PER_CLIENT) as second,
                streams(web, room, next(numbers), 1) as third,
            ):
                assert statuses(second) == [200] * (IN_ALL - PER_CLIENT)
                assert statuses(third) == [429]
            assert first[0].next().event == "state"

    def test_that_are_closed_make_room(self, web: Web, room: str, me: int) -> None:
        for _ in range(10):
            all_free(web, room, me)

    def test_that_were_never_opened_take_no_seat(self, web: Web, room: str, me: int) -> None:
        with web.client() as client:
            for _ in range(2 * PER_CLIENT):
                assert client.head(f"/elections/{room}/watch").status_code == 200
                assert client.get("/elections/bad/watch").status_code == 400
        with Watcher(web.port, f"/elections/{room}/watch") as watcher:
            assert watcher.status == 200

    def test_cost_no_budget(self, web: Web, room: str, me: int) -> None:
        for _ in range(BUDGET):
            with streams(web, room, me, 1):
                pass
        with Waiter(web.port, room, wait_seconds=0, headers=address(me)) as candidate:
            assert candidate.answer().told == (200, "leader")


class TestWaits:
    def test_share_the_seats_of_streams(self, web: Web, room: str, me: int) -> None:
        with web.client() as client, ExitStack() as stack:
            win(client, room)
            waiters = [stack.enter_context(Waiter(web.port, room, headers=address(me))) for _ in range(PER_CLIENT)]
            assert all(waiter.is_waiting(0.2) for waiter in waiters)
            with streams(web, room, me, 1) as watchers:
                assert statuses(watchers) == [429]
            with Waiter(web.port, room, headers=address(me)) as one_more:
                assert one_more.answer().told == (429, "rate_limited")
            with Waiter(web.port, room, wait_seconds=0, headers=address(me)) as impatient:
                assert impatient.answer().told == (200, "follower")
        all_free(web, room, me)

    def test_give_their_seat_back_when_answered(self, web: Web, room: str, me: int) -> None:
        with web.client() as client, ExitStack() as stack:
            win(client, room)
            for _ in range(PER_CLIENT):
                waiter = stack.enter_context(Waiter(web.port, room, wait_seconds=1, headers=address(me)))
                assert waiter.answer().told == (200, "follower")
            all_free(web, room, me)

    def test_cost_budget_once_however_often_they_try(self, web: Web, room: str, me: int) -> None:
        with web.client() as client:
            leader_token = win(client, room)["leader_token"]
            with Waiter(web.port, room, wait_seconds=2, headers=address(me)) as waiter:
                while waiter.is_waiting(0.01):
                    client.renew(room, leader_token)
                assert waiter.answer().told == (200, "follower")
            tries = [ask(client, room, me) for _ in range(BUDGET)]
        # What was spent comes back at one every three seconds.
        assert BUDGET - 1 <= tries.count(200) <= BUDGET


def ask(client: Client, room: str, number: int) -> int:
    headers = {"X-Forwarded-For": f"192.0.2.{number}"}
    return client.post(f"/elections/{room}/campaign", json={"candidate_id": "borea"}, headers=headers).status_code
