"""POST /locks/{name}/acquire within a session: the session, which is one worker, holds."""

from __future__ import annotations

from typing import Any

from octostore.leases.models import Lease
from tests.elections.rooms import instant, told
from tests.locks.cast import (
    UNKNOWN_LEASE,
    Worker,
    age,
    age_session,
    expire,
    expire_session,
    kinds,
    row,
    stored,
)


def unchanged(won: dict[str, Any]) -> dict[str, Any]:
    return {name: won[name] for name in ("lease_id", "fencing_token", "metadata")}


class TestAgain:
    def test_gets_the_same_lease_and_fencing_token(self, worker: Worker, lock: str) -> None:
        session = worker.begin()
        first = worker.hold(lock, session_id=session, metadata="first")
        again = worker.hold(lock, session_id=session, metadata="second", holder="other", lock_delay_seconds=9)
        assert unchanged(again) == unchanged(first)
        assert kinds(lock) == ["acquired"]
        assert row(lock).delay_ms == 0
        assert row(lock).holder == ""

    def test_the_expiry_grows(self, worker: Worker, lock: str) -> None:
        session = worker.begin()
        first = worker.hold(lock, session_id=session, ttl_seconds=60)
        age(lock, 20)
        again = worker.hold(lock, session_id=session, ttl_seconds=60)
        assert instant(again["expires_at"]) >= instant(first["expires_at"])
        assert again["renew_after_ms"] == 30_000

    def test_the_expiry_never_shrinks(self, worker: Worker, lock: str) -> None:
        session = worker.begin()
        first = worker.hold(lock, session_id=session, ttl_seconds=600)
        again = worker.hold(lock, session_id=session, ttl_seconds=10)
        assert again["expires_at"] == first["expires_at"]
        assert again["safe_for_ms"] > 590_000

    def test_the_terms_own_ttl_stays(self, worker: Worker, lock: str) -> None:
        session = worker.begin()
        won = worker.hold(lock, session_id=session, ttl_seconds=60)
        worker.hold(lock, session_id=session, ttl_seconds=600)
        assert worker.renew_lock(lock, won["lease_id"]).json()["renew_after_ms"] == 30_000

    def test_an_ephemeral_lock_stays_one(self, worker: Worker, lock: str) -> None:
        session = worker.begin(ttl_seconds=30)
        worker.hold(lock, session_id=session, ephemeral=True)
        again = worker.hold(lock, session_id=session, ephemeral=False, ttl_seconds=600)
        assert again["safe_for_ms"] < 30_000

    def test_another_of_the_teams_keys_is_the_same_worker(self, worker: Worker, mate: Worker, lock: str) -> None:
        session = worker.begin()
        first = worker.hold(lock, session_id=session)
        assert unchanged(mate.hold(lock, session_id=session)) == unchanged(first)

    def test_the_id_may_be_written_in_capitals(self, worker: Worker, lock: str) -> None:
        session = worker.begin()
        first = worker.hold(lock, session_id=session)
        assert unchanged(worker.hold(lock, session_id=session.upper())) == unchanged(first)
        assert worker.release(lock, first["lease_id"].upper()).status_code == 200

    def test_after_its_end_it_is_another_term(self, worker: Worker, lock: str) -> None:
        session = worker.begin()
        first = worker.hold(lock, session_id=session)
        expire(lock)
        second = worker.hold(lock, session_id=session)
        assert second["fencing_token"] > first["fencing_token"]
        assert second["lease_id"] != first["lease_id"]


class TestOthers:
    def test_another_session_is_another_worker(self, worker: Worker, lock: str) -> None:
        worker.hold(lock, session_id=worker.begin())
        assert worker.acquire(lock, session_id=worker.begin()).json()["status"] == "held"
        assert worker.acquire(lock).json()["status"] == "held"

    def test_a_single_grant_is_no_sessions(self, worker: Worker, lock: str) -> None:
        worker.hold(lock)
        assert worker.acquire(lock, session_id=worker.begin()).json()["status"] == "held"

    def test_the_holder_is_told_by_a_pseudonym_of_the_session(self, worker: Worker, lock: str) -> None:
        session = worker.begin()
        worker.hold(lock, session_id=session)
        worker.hold(lock + "-2", session_id=session)
        pseudonym = worker.lock(lock)["holder_id"]
        assert pseudonym == worker.lock(lock + "-2")["holder_id"] == worker.acquire(lock).json()["holder_id"]
        assert pseudonym != session
        expire(lock)
        worker.hold(lock, session_id=session)
        assert worker.lock(lock)["holder_id"] == pseudonym
        assert {term["holder_id"] for term in worker.terms(lock)} == {pseudonym}


class TestEphemeral:
    def test_ends_at_the_sessions_end_when_that_comes_first(self, worker: Worker, lock: str) -> None:
        began = worker.post("/sessions", json={"ttl_seconds": 30}).json()
        won = worker.hold(lock, session_id=began["session_id"], ephemeral=True, ttl_seconds=3600)
        assert won["expires_at"] == began["expires_at"] == worker.lock(lock)["expires_at"]
        assert won["renew_after_ms"] <= 15_000
        assert won["safe_for_ms"] < 30_000

    def test_ends_at_its_own_expiry_when_that_comes_first(self, worker: Worker, lock: str) -> None:
        won = worker.hold(lock, session_id=worker.begin(ttl_seconds=300), ephemeral=True, ttl_seconds=20)
        assert won["renew_after_ms"] == 10_000

    def test_goes_on_as_its_session_is_kept_alive(self, worker: Worker, lock: str) -> None:
        session = worker.begin(ttl_seconds=30)
        won = worker.hold(lock, session_id=session, ephemeral=True, ttl_seconds=3600)
        age_session(session, 20)
        kept = worker.keep(session).json()
        assert worker.lock(lock)["expires_at"] == kept["expires_at"] > won["expires_at"]

    def test_others_do_not_end_with_the_session(self, worker: Worker, lock: str) -> None:
        session = worker.begin(ttl_seconds=30)
        won = worker.hold(lock, session_id=session, ttl_seconds=600)
        assert won["renew_after_ms"] == 300_000
        expire_session_alone(session)
        assert worker.lock(lock)["status"] == "held"
        assert worker.renew_lock(lock, won["lease_id"]).status_code == 200


def expire_session_alone(session: str) -> None:
    """As if the session's end had passed while its other locks went on."""
    from octostore.leases.models import LeaseGroup
    from tests.players import now_ms

    LeaseGroup.objects.filter(key=session).update(expires_at=now_ms() - 1)


class TestADeadSession:
    def test_cannot_acquire_a_free_lock(self, worker: Worker, lock: str) -> None:
        session = worker.begin()
        expire_session(session)
        for _ in range(2):
            assert told(worker.acquire(lock, session_id=session)) == (410, "session_expired")
        assert not Lease.objects.exists()

    def test_cannot_acquire_what_it_still_holds(self, worker: Worker, lock: str) -> None:
        session = worker.begin()
        worker.hold(lock, session_id=session, ttl_seconds=600)
        worker.delete(f"/sessions/{session}")
        assert told(worker.acquire(lock, session_id=session)) == (410, "session_expired")

    def test_its_ephemeral_lock_is_had_by_the_next_at_once(self, worker: Worker, mate: Worker, lock: str) -> None:
        session = worker.begin()
        first = worker.hold(lock, session_id=session, ephemeral=True, ttl_seconds=600)
        expire_session(session)
        second = mate.hold(lock)
        assert second["fencing_token"] > first["fencing_token"]
        assert told(worker.renew_lock(lock, first["lease_id"])) == (404, "lease_not_current")


class TestAnUnknownSession:
    def test_is_not_found(self, worker: Worker, outsider: Worker, lock: str) -> None:
        foreign = outsider.begin()
        outsider.hold(lock, session_id=foreign)
        before = stored()
        absent, theirs = (worker.acquire(lock, session_id=one) for one in (UNKNOWN_LEASE, foreign))
        assert told(absent) == told(theirs) == (404, "not_found")
        assert without_request_id(absent.json()) == without_request_id(theirs.json())
        assert stored() == before


def without_request_id(body: dict[str, Any]) -> dict[str, Any]:
    return {name: value for name, value in body.items() if name != "request_id"}
