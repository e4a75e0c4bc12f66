"""How many locks a team may hold at once: strictly so many, however many ask."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import httpx
import pytest
from pytest_django.fixtures import Settings

from octostore.leases.models import Lease
from octostore.teams.models import Team
from tests.elections.rooms import told
from tests.locks.cast import Worker, expire, issue, stored
from tests.processes import Web
from tests.races import race

REFUSED = (403, "lock_limit_exceeded")


class TestAtTheQuota:
    @pytest.fixture(autouse=True)
    def three(self, settings: Settings) -> None:
        settings.TEAM_LOCKS_MAX = 3

    @pytest.fixture
    def held(self, worker: Worker) -> dict[str, dict[str, Any]]:
        return {lock: worker.hold(lock) for lock in "abc"}

    @pytest.mark.usefixtures("held")
    def test_no_further_lock_is_had(self, worker: Worker, mate: Worker, lock: str) -> None:
        before = stored()
        assert told(worker.acquire(lock)) == REFUSED
        assert told(mate.acquire(lock)) == REFUSED
        assert told(mate.acquire(lock, session_id=mate.begin())) == REFUSED
        assert [row for row in stored() if row.get("name") == lock and row["term"]] == []
        assert len(stored()) >= len(before)

    @pytest.mark.usefixtures("held")
    def test_other_teams_are_not_asked(self, outsider: Worker, lock: str) -> None:
        outsider.hold(lock)

    def test_one_that_ends_makes_room(
        self, worker: Worker, admin: Worker, lock: str, held: dict[str, dict[str, Any]]
    ) -> None:
        worker.release("a", held["a"]["lease_id"])
        worker.hold(lock)
        assert told(worker.acquire("a")) == REFUSED
        expire("b")
        worker.hold(lock + "-2")
        admin.revoke("c", held["c"]["fencing_token"])
        worker.hold(lock + "-3")
        assert told(worker.acquire(lock + "-4")) == REFUSED

    def test_a_session_that_ends_makes_room(self, worker: Worker, lock: str) -> None:
        session = worker.begin()
        for one in "abc":
            worker.hold(one, session_id=session, ephemeral=True)
        worker.delete(f"/sessions/{session}")
        worker.hold(lock)

    def test_one_that_expired_may_be_taken_over(self, worker: Worker, held: dict[str, dict[str, Any]]) -> None:
        expire("a")
        assert worker.hold("a")["fencing_token"] > held["a"]["fencing_token"]

    def test_whoever_holds_goes_on(self, worker: Worker, lock: str, attempt: str) -> None:
        session = worker.begin()
        won = worker.hold("a", attempt=attempt)
        worker.hold("b", session_id=session)
        worker.hold("c")
        assert told(worker.acquire(lock)) == REFUSED
        assert worker.hold("a", attempt=attempt)["lease_id"] == won["lease_id"]
        worker.hold("b", session_id=session)
        assert worker.renew_lock("a", won["lease_id"]).status_code == 200
        assert worker.acquire("c").json()["status"] == "held"


def test_is_a_hundred_when_nothing_is_said(worker: Worker) -> None:
    for n in range(100):
        worker.hold(f"lock-{n}")
    assert told(worker.acquire("lock-100")) == REFUSED


def test_two_hundred_threads_end_exactly_at_the_quota(team: Team, start_web: Callable[..., Web]) -> None:
    webs = [start_web(OCTOSTORE_TEAM_LOCKS_MAX="16") for _ in range(2)]
    key = issue(team)

    def acquire(n: int) -> Callable[[], httpx.Response]:
        def call() -> httpx.Response:
            with Worker(key, base_url=webs[n % 2].url) as worker:
                return worker.acquire(f"lock-{n}")

        return call

    answers = race([acquire(n) for n in range(200)])
    assert [answer.status_code for answer in answers].count(200) == 16
    assert {told(answer) for answer in answers if answer.status_code != 200} == {REFUSED}
    assert Lease.objects.filter(ended_at=None).count() == 16
