"""wait_seconds: an acquire that is answered the moment it wins, or when its wait is over."""

from __future__ import annotations

import time
from collections.abc import Callable, Iterator
from concurrent.futures import Future, ThreadPoolExecutor
from typing import Any

import httpx
import pytest

from octostore.teams.models import Team
from tests.elections.rooms import told
from tests.locks.cast import Worker, expire, expire_session, issue, row
from tests.processes import Web

Wait = Callable[..., Future[httpx.Response]]


@pytest.fixture
def there(team: Team, two_webs: list[Web]) -> Iterator[Worker]:
    """A worker of the team that calls a real web process."""
    with Worker(issue(team, "admin"), base_url=two_webs[0].url) as one:
        yield one


@pytest.fixture
def wait(there: Worker) -> Iterator[Wait]:
    """Acquires on a thread beside the test."""
    with ThreadPoolExecutor(8) as pool:

        def begin(lock: str, **body: Any) -> Future[httpx.Response]:
            def acquire() -> httpx.Response:
                with Worker(there.key, base_url=str(there.base_url)) as one:
                    return one.acquire(lock, **{"wait_seconds": 10} | body)

            future = pool.submit(acquire)
            time.sleep(0.3)  # until it is parked; nothing tells
            return future

        yield begin


class TestWaiting:
    def test_ends_with_a_win_as_soon_as_the_lock_is_free(self, there: Worker, lock: str, wait: Wait) -> None:
        held = there.hold(lock, ttl_seconds=60)
        waiting = wait(lock, ttl_seconds=60)
        released_at = time.monotonic()
        there.release(lock, held["lease_id"])
        won = waiting.result(5).json()
        assert time.monotonic() - released_at < 2
        assert won["status"] == "acquired"
        assert won["fencing_token"] > held["fencing_token"]

    def test_a_win_is_short_until_its_first_renewal(self, there: Worker, lock: str, wait: Wait) -> None:
        held = there.hold(lock)
        waiting = wait(lock, ttl_seconds=60)
        there.release(lock, held["lease_id"])
        won = waiting.result(5).json()
        assert won["renew_after_ms"] == 7_500
        # From the sending on, so the time that was waited comes on top.
        assert 15_000 < won["safe_for_ms"] < 20_000
        assert there.renew_lock(lock, won["lease_id"]).json()["renew_after_ms"] == 30_000

    def test_a_ttl_that_is_shorter_stays(self, there: Worker, lock: str, wait: Wait) -> None:
        held = there.hold(lock)
        waiting = wait(lock, ttl_seconds=10)
        there.release(lock, held["lease_id"])
        assert waiting.result(5).json()["renew_after_ms"] == 5_000

    def test_ends_with_who_holds_when_it_is_over(self, there: Worker, lock: str) -> None:
        there.hold(lock)
        began_at = time.monotonic()
        answer = there.acquire(lock, wait_seconds=1)
        assert 0.9 < time.monotonic() - began_at < 5
        assert answer.json()["status"] == "held"

    def test_is_answered_at_once_where_there_is_nothing_to_wait_for(self, there: Worker, lock: str) -> None:
        began_at = time.monotonic()
        assert there.hold(lock, wait_seconds=60, ttl_seconds=60)["renew_after_ms"] == 30_000
        assert time.monotonic() - began_at < 5

    def test_outlasts_a_lock_delay(self, there: Worker, lock: str, wait: Wait) -> None:
        held = there.hold(lock, lock_delay_seconds=1)
        waiting = wait(lock)
        released_at = time.monotonic()
        there.release(lock, held["lease_id"], delay=True)
        assert waiting.result(5).json()["status"] == "acquired"
        assert time.monotonic() - released_at > 0.9

    def test_that_is_over_within_a_lock_delay_says_so(self, there: Worker, lock: str) -> None:
        there.release(lock, there.hold(lock, lock_delay_seconds=30)["lease_id"], delay=True)
        answer = there.acquire(lock, wait_seconds=1)
        assert told(answer) == (409, "lock_delayed")
        assert answer.json()["lock_delay_seconds"] == 30

    def test_ends_at_an_expiry_that_nobody_tells_of(self, there: Worker, lock: str, wait: Wait) -> None:
        there.hold(lock)
        waiting = wait(lock)
        expire(lock)
        assert waiting.result(5).json()["status"] == "acquired"

    def test_is_first_come_first_served(self, there: Worker, lock: str, wait: Wait) -> None:
        held = there.hold(lock)
        waiting = [wait(lock, holder=f"w-{n}") for n in range(3)]
        for n, one in enumerate(waiting):
            there.release(lock, held["lease_id"])
            held = one.result(5).json()
            assert there.lock(lock)["holder"] == f"w-{n}"

    def test_a_wait_in_a_session_that_dies_ends_with_it(self, there: Worker, lock: str, wait: Wait) -> None:
        session = there.begin()
        held = there.hold(lock)
        waiting = wait(lock, session_id=session)
        expire_session(session)
        there.release(lock, held["lease_id"])
        assert told(waiting.result(5)) == (410, "session_expired")

    def test_what_it_won_can_be_asked_for_again(self, there: Worker, lock: str, wait: Wait, attempt: str) -> None:
        held = there.hold(lock)
        waiting = wait(lock, attempt=attempt)
        there.release(lock, held["lease_id"])
        won = waiting.result(5).json()
        again = there.acquire(lock, attempt=attempt, wait_seconds=5)
        assert again.headers["Idempotent-Replayed"] == "true"
        assert again.json()["lease_id"] == won["lease_id"]
        assert row(lock).term == won["fencing_token"]


def test_a_team_has_so_many_waits_at_once(team: Team, outsider: Worker, start_web: Callable[..., Web]) -> None:
    web = start_web(OCTOSTORE_TEAM_WAITS_MAX="1")
    with (
        Worker(issue(team), base_url=web.url) as ours,
        Worker(outsider.key, base_url=web.url) as theirs,
        ThreadPoolExecutor(1) as pool,
    ):
        ours.hold("a")
        theirs.hold("a")
        waiting = pool.submit(ours.acquire, "a", wait_seconds=2)
        time.sleep(0.3)
        answer = ours.acquire("a", wait_seconds=2)
        assert told(answer) == (429, "rate_limited")
        assert int(answer.headers["Retry-After"]) > 0
        assert theirs.acquire("a", wait_seconds=1).json()["status"] == "held"
        assert waiting.result(5).json()["status"] == "held"
