"""GET /locks/{name}: who holds at this instant."""

from __future__ import annotations

from typing import Any

from octostore.leases.models import Lease
from tests.elections.rooms import told
from tests.locks.cast import Worker, address, expire, row, stored
from tests.locks.ladder import Ladder


def free(lock: str, term: int | None) -> dict[str, Any]:
    nothing = dict.fromkeys(["holder_id", "holder", "expires_at", "metadata"])
    return {"name": lock, "status": "free", "fencing_token": term, **nothing}


class TestAFreeLock:
    def test_nobody_has_held(self, worker: Worker, lock: str) -> None:
        assert worker.lock(lock) == free(lock, None)
        assert stored() == []

    def test_was_released(self, worker: Worker, lock: str) -> None:
        won = worker.hold(lock, holder="w", metadata="m")
        worker.release(lock, won["lease_id"])
        assert worker.lock(lock) == free(lock, won["fencing_token"])

    def test_expired_without_anybody_having_marked_it(self, worker: Worker, lock: str) -> None:
        won = worker.hold(lock, holder="w", metadata="m")
        expire(lock)
        assert worker.lock(lock) == free(lock, won["fencing_token"])
        assert row(lock).ended_at is None


class TestAHeldLock:
    def test_tells_who_holds_it(self, worker: Worker, lock: str) -> None:
        won = worker.hold(lock, holder="worker-7", metadata="attempt 2")
        seen = worker.lock(lock)
        assert seen.keys() == free(lock, None).keys()
        assert (seen["name"], seen["status"], seen["holder"]) == (lock, "held", "worker-7")
        assert (seen["fencing_token"], seen["expires_at"]) == (won["fencing_token"], won["expires_at"])
        assert (seen["metadata"], len(seen["holder_id"])) == ("attempt 2", 36)

    def test_has_null_for_what_nobody_said(self, worker: Worker, lock: str) -> None:
        worker.hold(lock)
        seen = worker.lock(lock)
        assert seen["holder"] is None
        assert seen["metadata"] is None

    def test_tells_no_capability(self, worker: Worker, lock: str) -> None:
        session = worker.begin()
        won = worker.hold(lock, session_id=session)
        text = worker.get(address(lock)).text
        assert won["lease_id"] not in text
        assert session not in text

    def test_is_told_to_whoever_may_read(self, worker: Worker, reader: Worker, mate: Worker, lock: str) -> None:
        worker.hold(lock)
        assert reader.lock(lock) == mate.lock(lock) == worker.lock(lock)

    def test_another_team_sees_a_free_one(self, worker: Worker, outsider: Worker, lock: str) -> None:
        worker.hold(lock)
        worker.release(lock, worker.hold(lock + "-2")["lease_id"])
        assert outsider.lock(lock) == free(lock, None)
        assert outsider.lock(lock + "-2") == free(lock + "-2", None)


class TestNames:
    def test_slashes_come_encoded_or_as_they_are(self, worker: Worker) -> None:
        won = worker.hold("repo/issue/1842")
        for path in ("repo/issue/1842", "repo%2Fissue%2F1842", "repo%2fissue/1842"):
            assert worker.get(f"/locks/{path}").json()["fencing_token"] == won["fencing_token"]
            assert worker.post(f"/locks/{path}/acquire", json={}).json()["status"] == "held"

    def test_of_any_script_are_taken(self, worker: Worker) -> None:
        for lock in (
            "a",
            "0",
            "A.z_0-9",
            "...",
            "-",
            "a" * 64,
            "/".join(["a" * 64] * 3 + ["b" * 61]),
            "é" * 32,
            "über/日本/ключ/٣",
            "\u1112\u1161",
            "acquire/x",
            "acquire/acquires",
            "Acquire",
            "locks",
        ):
            worker.hold(lock)
            assert worker.lock(lock)["name"] == lock

    def test_are_told_apart_by_case_and_by_byte(self, worker: Worker) -> None:
        """Angstrom's sign is another letter than the one it is normalised to, as Cyrillic a is another than Latin's."""
        for lock in ("repo", "Repo", "\u212b", "\u00c5", "\u0430", "a", "\ud55c", "\u1112\u1161\u11ab"):
            worker.hold(lock)
        assert Lease.objects.count() == 8

    def test_a_slash_at_the_end_is_no_address(self, worker: Worker) -> None:
        for path in ("/locks/", "/locks/repo/", "/locks//"):
            assert told(worker.get(path)) == (404, "not_found")


class TestLadder(Ladder):
    method = "GET"
    path = "/locks/{lock}"
    scope = "read"
    elsewhere = {"empty", "slash last", "bare slash last", "reserved last", "bare reserved last"}
