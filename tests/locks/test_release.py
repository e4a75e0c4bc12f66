"""POST /locks/{name}/release: the term ends by its holder's word, and no other does."""

from __future__ import annotations

from typing import Any, ClassVar

from tests.elections.rooms import told
from tests.locks.cast import UNKNOWN_LEASE, Worker, expire, kinds, stored
from tests.locks.ladder import NO_LEASES, NO_TEXTS, Ladder, broken, misfits
from tests.races import race


class TestAHolder:
    def test_is_answered_null(self, worker: Worker, lock: str) -> None:
        won = worker.hold(lock)
        answer = worker.release(lock, won["lease_id"])
        assert (answer.status_code, answer.content) == (200, b"null")
        assert answer.headers["Content-Type"] == "application/json"

    def test_the_lock_is_free_at_once(self, worker: Worker, mate: Worker, lock: str) -> None:
        won = worker.hold(lock)
        worker.release(lock, won["lease_id"])
        assert worker.lock(lock)["status"] == "free"
        assert mate.hold(lock)["fencing_token"] > won["fencing_token"]

    def test_again_is_told_that_it_worked(self, worker: Worker, lock: str) -> None:
        won = worker.hold(lock)
        worker.release(lock, won["lease_id"])
        answer = worker.release(lock, won["lease_id"])
        assert told(answer) == (404, "lease_not_current")
        assert answer.json()["ended"] == "released"
        assert kinds(lock) == ["acquired", "released"]

    def test_one_of_twenty_at_once_ends_it(self, worker: Worker, lock: str) -> None:
        won = worker.hold(lock)

        def release() -> int:
            with Worker(worker.key) as one:
                return one.release(lock, won["lease_id"]).status_code

        assert sorted(race([release] * 20)) == [200] + [404] * 19
        assert kinds(lock) == ["acquired", "released"]

    def test_an_ephemeral_lock_is_released_like_any(self, worker: Worker, lock: str) -> None:
        session = worker.begin()
        won = worker.hold(lock, session_id=session, ephemeral=True)
        assert worker.release(lock, won["lease_id"]).status_code == 200
        assert worker.session(session)["lock_count"] == 0


class TestNotCurrent:
    def test_a_stale_lease_leaves_the_next_holder_alone(self, worker: Worker, mate: Worker, lock: str) -> None:
        first = worker.hold(lock)
        expire(lock)
        second = mate.hold(lock)
        before = stored()
        for body in ({}, {"delay": True}):
            assert told(worker.release(lock, first["lease_id"], **body)) == (404, "lease_not_current")
        assert stored() == before
        assert mate.renew_lock(lock, second["lease_id"]).status_code == 200

    def test_another_teams_lease_is_unknown(self, worker: Worker, outsider: Worker, lock: str) -> None:
        won = worker.hold(lock, lock_delay_seconds=5)
        outsider.hold(lock)
        for body in ({}, {"delay": True}):
            answer = outsider.release(lock, won["lease_id"], **body)
            assert told(answer) == (404, "lease_not_current")
            assert "ended" not in answer.json()
        assert worker.lock(lock)["status"] == "held"


class TestLadder(Ladder):
    path = "/locks/{lock}/release"
    body: ClassVar[Any] = {"lease_id": UNKNOWN_LEASE}

    def test_bad_fields_are_named(self, worker: Worker, lock: str) -> None:
        worker.hold(lock)
        before = stored()
        self.refuses(worker, lock, misfits(NO_TEXTS | {"null": "null"}) | broken(NO_LEASES), "lease_id")
        self.refuses(worker, lock, misfits({"number": "1", "text": '"true"', "object": "{}"}), "delay")
        assert stored() == before
