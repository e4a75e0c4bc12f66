"""POST /locks/{name}/renew: the term goes on, or what ended stays ended."""

from __future__ import annotations

from typing import Any, ClassVar

import pytest

from tests.elections.bad_input import NO_TTLS
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
from tests.locks.ladder import NO_LEASES, NO_TEXTS, Ladder, broken, misfits
from tests.players import now_ms


class TestAHolder:
    def test_is_answered_with_the_lease_and_its_times(self, worker: Worker, lock: str) -> None:
        won = worker.hold(lock, ttl_seconds=20)
        age(lock, 10)
        before = now_ms()
        answer = worker.renew_lock(lock, won["lease_id"])
        assert answer.status_code == 200
        renewed = answer.json()
        assert renewed.keys() == {"lease_id", "expires_at", "renew_after_ms", "safe_for_ms"}
        assert renewed["lease_id"] == won["lease_id"]
        assert before + 20_000 <= instant(renewed["expires_at"]) <= now_ms() + 20_000
        assert renewed["renew_after_ms"] == 10_000
        assert 19_900 <= renewed["safe_for_ms"] < 20_000

    def test_may_renew_again_and_again(self, worker: Worker, lock: str) -> None:
        won = worker.hold(lock)
        for count in range(1, 4):
            assert worker.renew_lock(lock, won["lease_id"]).status_code == 200
            assert row(lock).renewals == count
        assert row(lock).term == won["fencing_token"]
        assert kinds(lock) == ["acquired"]

    @pytest.mark.parametrize("seconds", [1, 60, 3600])
    def test_may_ask_for_another_ttl(self, worker: Worker, lock: str, seconds: int) -> None:
        won = worker.hold(lock, ttl_seconds=30)
        for ttl in ({"ttl_seconds": seconds}, {}):
            assert worker.renew_lock(lock, won["lease_id"], **ttl).json()["renew_after_ms"] == seconds * 500

    def test_may_renew_by_another_of_the_teams_keys(self, worker: Worker, mate: Worker, lock: str) -> None:
        """What proves the hold is the lease, as it was for the one who handed it on."""
        won = worker.hold(lock)
        assert mate.renew_lock(lock, won["lease_id"]).status_code == 200


class TestAnEphemeralLock:
    def test_goes_no_further_than_its_session(self, worker: Worker, lock: str) -> None:
        began = worker.post("/sessions", json={"ttl_seconds": 30}).json()
        won = worker.hold(lock, session_id=began["session_id"], ephemeral=True, ttl_seconds=10)
        renewed = worker.renew_lock(lock, won["lease_id"], ttl_seconds=3600).json()
        assert renewed["expires_at"] == began["expires_at"]
        assert renewed["safe_for_ms"] < 30_000

    def test_may_be_shorter_than_its_session(self, worker: Worker, lock: str) -> None:
        session = worker.begin(ttl_seconds=300)
        won = worker.hold(lock, session_id=session, ephemeral=True, ttl_seconds=100)
        assert worker.renew_lock(lock, won["lease_id"], ttl_seconds=5).json()["renew_after_ms"] == 2_500
        worker.keep(session)
        assert row(lock).expires_at <= now_ms() + 5_000

    @pytest.mark.parametrize("way", ["expired", "deleted"])
    def test_is_over_with_its_session(self, worker: Worker, lock: str, way: str) -> None:
        session = worker.begin()
        won = worker.hold(lock, session_id=session, ephemeral=True, ttl_seconds=600)
        if way == "expired":
            expire_session(session)
        else:
            worker.delete(f"/sessions/{session}")
        answer = worker.renew_lock(lock, won["lease_id"])
        assert told(answer) == (404, "lease_not_current")
        assert answer.json()["ended"] == {"expired": "expired", "deleted": "released"}[way]

    def test_renewing_does_not_keep_its_session_alive(self, worker: Worker, lock: str) -> None:
        session = worker.begin(ttl_seconds=10)
        won = worker.hold(lock, session_id=session, ephemeral=True, ttl_seconds=600)
        age_session(session, 5)
        renewed = worker.renew_lock(lock, won["lease_id"]).json()
        assert renewed["safe_for_ms"] < 5_000


class TestNotCurrent:
    def test_expired_is_expired_even_when_nobody_else_came(self, worker: Worker, lock: str) -> None:
        won = worker.hold(lock)
        expire(lock)
        for _ in range(2):
            answer = worker.renew_lock(lock, won["lease_id"])
            assert told(answer) == (404, "lease_not_current")
            assert answer.json()["ended"] == "expired"
        assert kinds(lock) == ["acquired", "expired"]

    def test_says_how_it_ended_to_its_holder_alone(self, worker: Worker, admin: Worker, lock: str) -> None:
        won = worker.hold(lock)
        worker.release(lock, won["lease_id"])
        assert worker.renew_lock(lock, won["lease_id"]).json()["ended"] == "released"
        assert "ended" not in worker.renew_lock(lock, UNKNOWN_LEASE).json()
        won = worker.hold(lock)
        admin.revoke(lock, won["fencing_token"])
        assert worker.renew_lock(lock, won["lease_id"]).json()["ended"] == "removed"

    def test_a_stale_lease_changes_nothing(self, worker: Worker, mate: Worker, lock: str) -> None:
        first = worker.hold(lock)
        expire(lock)
        mate.hold(lock)
        before = stored()
        answer = worker.renew_lock(lock, first["lease_id"], ttl_seconds=3600)
        assert told(answer) == (404, "lease_not_current")
        assert "ended" not in answer.json()
        assert stored() == before

    def test_a_lease_of_another_lock_is_no_lease_of_this_one(self, worker: Worker, lock: str) -> None:
        won = worker.hold(lock)
        worker.hold(lock + "-2")
        assert told(worker.renew_lock(lock + "-2", won["lease_id"])) == (404, "lease_not_current")

    def test_another_teams_lease_is_unknown(self, worker: Worker, outsider: Worker, lock: str) -> None:
        won = worker.hold(lock)
        outsider.hold(lock)
        answers = [outsider.renew_lock(lock, lease).json() for lease in (won["lease_id"], UNKNOWN_LEASE)]
        answers += [outsider.renew_lock(lock + "-none", won["lease_id"]).json()]
        assert len({(body["code"], body["error"], body.get("details"), body.get("ended")) for body in answers}) == 1


class TestLadder(Ladder):
    path = "/locks/{lock}/renew"
    body: ClassVar[Any] = {"lease_id": UNKNOWN_LEASE}

    def test_bad_fields_are_named(self, worker: Worker, lock: str) -> None:
        worker.hold(lock)
        before = stored()
        self.refuses(worker, lock, misfits(NO_TEXTS | {"null": "null"}) | broken(NO_LEASES), "lease_id")
        ttls = {label: fault for label, fault in NO_TTLS.items() if label not in {"4", "301"}}
        self.refuses(worker, lock, ttls | broken({"3601": "3601"}, "invalid_ttl"), "ttl_seconds")
        assert stored() == before
