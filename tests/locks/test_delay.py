"""The lock delay: nobody acquires for as long as was agreed, always after an expiry, else when asked for."""

from __future__ import annotations

import pytest

from octostore.leases import reaper
from tests.elections.rooms import instant, told
from tests.locks.cast import Worker, age, expire, expire_session, kinds, row
from tests.players import now_ms


def refused_until(worker: Worker, lock: str) -> tuple[int, int]:
    """From when the lock can be acquired (milliseconds since 1970), and the whole delay in seconds."""
    answer = worker.acquire(lock)
    assert told(answer) == (409, "lock_delayed")
    body = answer.json()
    assert body.keys() >= {"error", "code", "request_id", "retry_after_ms", "status", "available_at"}
    assert body["status"] == "delayed"
    available_at = instant(body["available_at"])
    assert 0 <= available_at - now_ms() <= body["retry_after_ms"] <= (body["lock_delay_seconds"] + 5) * 1000
    assert "Retry-After" in answer.headers
    seen = worker.lock(lock)
    assert (seen["status"], seen["available_at"]) == ("delayed", body["available_at"])
    assert seen["holder_id"] is seen["holder"] is seen["expires_at"] is seen["metadata"] is None
    assert seen["fencing_token"] == row(lock).term
    return available_at, body["lock_delay_seconds"]


class TestAfterAnExpiry:
    @pytest.mark.parametrize("swept", [False, True])
    def test_runs_from_the_deadline(self, worker: Worker, lock: str, swept: bool) -> None:
        worker.hold(lock, lock_delay_seconds=10, metadata="m", holder="w")
        expire(lock)
        deadline = row(lock).expires_at
        if swept:
            reaper.sweep()
        assert refused_until(worker, lock) == (deadline + 10_000, 10)

    def test_ends_by_itself(self, worker: Worker, lock: str) -> None:
        worker.hold(lock, lock_delay_seconds=10)
        expire(lock)
        age(lock, 9.9)
        refused_until(worker, lock)
        age(lock, 0.2)
        assert worker.lock(lock)["status"] == "free"
        assert "available_at" not in worker.lock(lock)
        worker.hold(lock)

    def test_holds_for_everybody(self, worker: Worker, admin: Worker, lock: str, attempt: str) -> None:
        session = worker.begin()
        worker.hold(lock, lock_delay_seconds=10, session_id=session)
        expire(lock)
        assert told(admin.acquire(lock)) == (409, "lock_delayed")
        assert told(worker.acquire(lock, session_id=session)) == (409, "lock_delayed")
        assert told(worker.acquire(lock, attempt=attempt)) == (409, "lock_delayed")

    def test_those_it_refuses_come_back_spread(self, worker: Worker, lock: str) -> None:
        worker.hold(lock, lock_delay_seconds=30)
        expire(lock)
        instants = {now_ms() + worker.acquire(lock).json()["retry_after_ms"] for _ in range(10)}
        assert max(instants) - min(instants) > 500

    def test_is_that_of_the_grant(self, worker: Worker, lock: str) -> None:
        worker.hold(lock, lock_delay_seconds=10)
        assert worker.acquire(lock, lock_delay_seconds=20).json()["status"] == "held"
        expire(lock)
        assert refused_until(worker, lock)[1] == 10

    def test_there_is_none_unless_asked_for(self, worker: Worker, lock: str) -> None:
        worker.hold(lock)
        expire(lock)
        worker.hold(lock)

    @pytest.mark.parametrize("seconds", [0, 30])
    def test_may_be_from_none_to_half_a_minute(self, worker: Worker, lock: str, seconds: int) -> None:
        worker.hold(lock, lock_delay_seconds=seconds)
        assert row(lock).delay_ms == seconds * 1000


class TestAfterASession:
    def test_runs_from_the_end_of_one_that_expired(self, worker: Worker, lock: str) -> None:
        session = worker.begin(ttl_seconds=10)
        worker.hold(lock, session_id=session, ephemeral=True, lock_delay_seconds=10, ttl_seconds=600)
        expire_session(session)
        deadline = row(lock).expires_at
        assert refused_until(worker, lock) == (deadline + 10_000, 10)

    def test_does_not_run_after_one_that_was_deleted(self, worker: Worker, lock: str) -> None:
        session = worker.begin()
        worker.hold(lock, session_id=session, ephemeral=True, lock_delay_seconds=10)
        worker.delete(f"/sessions/{session}")
        worker.hold(lock)


class TestAfterARelease:
    def test_runs_only_when_asked_for(self, worker: Worker, lock: str) -> None:
        won = worker.hold(lock, lock_delay_seconds=10)
        worker.release(lock, won["lease_id"])
        won = worker.hold(lock, lock_delay_seconds=10)
        worker.release(lock, won["lease_id"], delay=False)
        won = worker.hold(lock, lock_delay_seconds=10)
        assert worker.release(lock, won["lease_id"], delay=True).status_code == 200
        assert refused_until(worker, lock) == (row(lock).ended_at + 10_000, 10)  # type: ignore[operator]

    def test_cannot_be_asked_for_where_there_is_none(self, worker: Worker, lock: str) -> None:
        won = worker.hold(lock)
        answer = worker.release(lock, won["lease_id"], delay=True)
        assert told(answer) == (400, "invalid_input")
        assert "delay" in answer.json()["details"]
        assert kinds(lock) == ["acquired"]
        assert worker.release(lock, won["lease_id"]).status_code == 200

    def test_a_stale_lease_learns_nothing_of_it(self, worker: Worker, lock: str) -> None:
        first = worker.hold(lock, lock_delay_seconds=0)
        worker.release(lock, first["lease_id"])
        worker.hold(lock)
        assert told(worker.release(lock, first["lease_id"], delay=True)) == (404, "lease_not_current")


class TestAfterARevoke:
    def test_is_as_long_as_the_revoker_says(self, worker: Worker, admin: Worker, lock: str) -> None:
        won = worker.hold(lock, lock_delay_seconds=10)
        admin.revoke(lock, won["fencing_token"], delay_seconds=30)
        assert refused_until(worker, lock) == (row(lock).ended_at + 30_000, 30)  # type: ignore[operator]

    def test_does_not_run_unless_asked_for(self, worker: Worker, admin: Worker, lock: str) -> None:
        won = worker.hold(lock, lock_delay_seconds=10)
        admin.revoke(lock, won["fencing_token"])
        worker.hold(lock)
