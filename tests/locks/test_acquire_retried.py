"""Idempotency-Key: one attempt at a lock is one term, however often its answer is lost."""

from __future__ import annotations

from typing import Any

import pytest

from tests.elections.rooms import told
from tests.locks.cast import Worker, age, expire, kinds, stored
from tests.races import race

CONTENT: dict[str, Any] = {"ttl_seconds": 60, "metadata": "m", "holder": "w", "lock_delay_seconds": 5}
TIMES = {"renew_after_ms", "safe_for_ms"}
DAY = 24 * 3600


class TestWhileTheTermLives:
    def test_a_retry_gets_the_same_answer_marked_as_replayed(self, worker: Worker, lock: str, attempt: str) -> None:
        first = worker.acquire(lock, attempt=attempt, **CONTENT)
        again = worker.acquire(lock, attempt=attempt, **CONTENT)
        assert "Idempotent-Replayed" not in first.headers
        assert again.headers["Idempotent-Replayed"] == "true"
        assert {name: value for name, value in again.json().items() if name not in TIMES} == {
            name: value for name, value in first.json().items() if name not in TIMES
        }
        assert kinds(lock) == ["acquired"]

    def test_a_retry_writes_nothing(self, worker: Worker, lock: str, attempt: str) -> None:
        worker.hold(lock, attempt=attempt)
        before = stored()
        worker.hold(lock, attempt=attempt)
        assert stored() == before

    def test_a_retry_gets_fresh_times(self, worker: Worker, lock: str, attempt: str) -> None:
        worker.hold(lock, attempt=attempt, ttl_seconds=60)
        age(lock, 20)
        assert 19_000 < worker.hold(lock, attempt=attempt, ttl_seconds=60)["renew_after_ms"] <= 20_000

    def test_what_is_omitted_is_the_default(self, worker: Worker, lock: str, attempt: str) -> None:
        won = worker.hold(lock, attempt=attempt)
        same = {"ttl_seconds": 60, "lock_delay_seconds": 0, "ephemeral": False, "wait_seconds": 0}
        assert worker.hold(lock, attempt=attempt, **same)["lease_id"] == won["lease_id"]

    @pytest.mark.parametrize(
        "change",
        [
            {"ttl_seconds": 61},
            {"metadata": "n"},
            {"metadata": None},
            {"holder": "v"},
            {"lock_delay_seconds": 6},
            {"acl": {"acquire": ["user:ci"]}},
        ],
        ids=str,
    )
    def test_other_content_conflicts(self, worker: Worker, lock: str, attempt: str, change: dict[str, Any]) -> None:
        worker.hold(lock, attempt=attempt, **CONTENT)
        before = stored()
        answer = worker.acquire(lock, attempt=attempt, **CONTENT | change)
        assert told(answer) == (409, "conflict")
        assert "lease_id" not in answer.text
        assert stored() == before

    def test_another_session_is_other_content(self, worker: Worker, lock: str, attempt: str) -> None:
        worker.hold(lock, attempt=attempt, session_id=worker.begin())
        assert told(worker.acquire(lock, attempt=attempt, session_id=worker.begin())) == (409, "conflict")

    def test_twenty_at_once_are_one_grant(self, worker: Worker, lock: str, attempt: str) -> None:
        def acquire() -> dict[str, Any]:
            with Worker(worker.key) as one:
                return one.hold(lock, attempt=attempt)

        assert len({won["lease_id"] for won in race([acquire] * 20)}) == 1
        assert kinds(lock) == ["acquired"]


class TestScope:
    def test_is_the_team(self, worker: Worker, outsider: Worker, lock: str, attempt: str) -> None:
        ours = worker.hold(lock, attempt=attempt)
        theirs = outsider.acquire(lock, attempt=attempt)
        assert "Idempotent-Replayed" not in theirs.headers
        assert theirs.json()["lease_id"] != ours["lease_id"]

    def test_is_the_name(self, worker: Worker, lock: str, attempt: str) -> None:
        ours = worker.hold(lock, attempt=attempt)
        other = worker.acquire(lock + "-2", attempt=attempt)
        assert "Idempotent-Replayed" not in other.headers
        assert other.json()["lease_id"] != ours["lease_id"]

    def test_rivals_are_told_who_holds_whatever_their_key(self, worker: Worker, lock: str, attempt: str) -> None:
        worker.hold(lock, attempt=attempt)
        for other in (None, attempt + "x", attempt[:-1], attempt.upper()):
            assert worker.acquire(lock, attempt=other).json()["status"] == "held"

    def test_every_key_of_the_team_may_retry(self, worker: Worker, mate: Worker, lock: str, attempt: str) -> None:
        ours = worker.hold(lock, attempt=attempt)
        assert mate.hold(lock, attempt=attempt)["lease_id"] == ours["lease_id"]


class TestAfterTheTerm:
    def test_a_late_duplicate_wins_no_ghost_term(self, worker: Worker, lock: str, attempt: str) -> None:
        worker.release(lock, worker.hold(lock, attempt=attempt)["lease_id"])
        assert told(worker.acquire(lock, attempt=attempt)) == (409, "conflict")
        assert kinds(lock) == ["acquired", "released"]

    def test_also_when_it_expired(self, worker: Worker, lock: str, attempt: str) -> None:
        worker.hold(lock, attempt=attempt)
        expire(lock)
        assert told(worker.acquire(lock, attempt=attempt)) == (409, "conflict")
        assert kinds(lock) == ["acquired", "expired"]

    def test_a_day_later_it_is_an_ordinary_acquire(self, worker: Worker, lock: str, attempt: str) -> None:
        first = worker.hold(lock, attempt=attempt)
        expire(lock)
        age(lock, DAY)
        assert worker.hold(lock, attempt=attempt)["fencing_token"] > first["fencing_token"]

    def test_after_another_term_it_is_an_ordinary_acquire(self, worker: Worker, lock: str, attempt: str) -> None:
        worker.hold(lock, attempt=attempt)
        expire(lock)
        other = worker.hold(lock)
        assert worker.acquire(lock, attempt=attempt).json()["status"] == "held"
        worker.release(lock, other["lease_id"])
        worker.hold(lock, attempt=attempt)
