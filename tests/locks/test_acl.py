"""An acl says who may acquire a lock; it is kept with the name and judged in the take itself."""

from __future__ import annotations

from typing import Any, ClassVar

import pytest

from octostore.teams.models import Team
from tests.elections.rooms import told
from tests.locks.cast import UNKNOWN_LEASE, Worker, address, expire, issue, row, stored
from tests.locks.ladder import Ladder


def put(worker: Worker, lock: str, *entries: str, lease_id: str | None = None) -> Any:
    headers = {"X-Lease-Id": lease_id} if lease_id else {}
    return worker.put(f"{address(lock)}/acl", json={"acl": {"acquire": list(entries)}}, headers=headers)


def delete(worker: Worker, lock: str, *, lease_id: str | None = None) -> Any:
    return worker.delete(f"{address(lock)}/acl", headers={"X-Lease-Id": lease_id} if lease_id else {})


class TestAnAcl:
    def test_lets_in_whom_it_lists_by_key(self, worker: Worker, mate: Worker, lock: str) -> None:
        won = worker.hold(lock, acl={"acquire": [f"key:{worker.visible}"]})
        worker.release(lock, won["lease_id"])
        assert told(mate.acquire(lock)) == (403, "forbidden")
        worker.hold(lock)

    def test_lets_in_whom_it_lists_by_name(self, worker: Worker, mate: Worker, team: Team, lock: str) -> None:
        worker.release(lock, worker.hold(lock, acl={"acquire": ["user:deploy"]})["lease_id"])
        assert told(worker.acquire(lock)) == (403, "forbidden")
        mate.release(lock, mate.hold(lock)["lease_id"])
        with Worker(issue(team, name="deploy")) as namesake:
            namesake.hold(lock)

    @pytest.mark.parametrize("name", ["deploy2", "xdeploy", "deplo", "Deploy"])
    def test_refuses_those_whose_name_is_only_alike(self, worker: Worker, team: Team, lock: str, name: str) -> None:
        worker.release(lock, worker.hold(lock, acl={"acquire": ["user:deploy", "user:x"]})["lease_id"])
        with Worker(issue(team, name=name)) as other:
            assert told(other.acquire(lock)) == (403, "forbidden")

    def test_refuses_also_while_the_lock_is_held(self, worker: Worker, mate: Worker, lock: str) -> None:
        worker.hold(lock, acl={"acquire": ["user:ci"]})
        assert told(mate.acquire(lock)) == (403, "forbidden")
        assert told(mate.acquire(lock, wait_seconds=1)) == (403, "forbidden")

    def test_outlives_the_lease(self, worker: Worker, mate: Worker, lock: str) -> None:
        worker.hold(lock, acl={"acquire": ["user:ci"]})
        expire(lock)
        assert told(mate.acquire(lock)) == (403, "forbidden")
        worker.release(lock, worker.hold(lock)["lease_id"])
        assert mate.lock(lock)["acl"] == {"acquire": ["user:ci"]}

    def test_is_told_with_the_lock(self, worker: Worker, lock: str) -> None:
        worker.hold(lock, acl={"acquire": ["user:ci", "key:aaaaaaaaaaaa", "user:ci"]})
        assert worker.lock(lock)["acl"] == {"acquire": ["key:aaaaaaaaaaaa", "user:ci"]}
        assert "acl" not in worker.lock(lock + "-2")

    def test_an_acquire_with_the_same_one_is_taken(self, worker: Worker, lock: str) -> None:
        worker.release(lock, worker.hold(lock, acl={"acquire": ["user:ci", "user:x"]})["lease_id"])
        worker.hold(lock, acl={"acquire": ["user:x", "user:ci"]})

    def test_an_acquire_with_another_one_conflicts(self, worker: Worker, lock: str) -> None:
        worker.release(lock, worker.hold(lock, acl={"acquire": ["user:ci"]})["lease_id"])
        before = stored()
        answer = worker.acquire(lock, acl={"acquire": ["user:ci", "user:x"]})
        assert told(answer) == (409, "conflict")
        assert stored() == before

    def test_may_lock_its_own_giver_out(self, worker: Worker, lock: str) -> None:
        """Whoever hands a lock over may not need it again; it is judged from the next acquire on."""
        won = worker.hold(lock, acl={"acquire": ["user:deploy"]})
        worker.renew_lock(lock, won["lease_id"])
        worker.release(lock, won["lease_id"])
        assert told(worker.acquire(lock)) == (403, "forbidden")


class TestPutting:
    def test_the_holder_may(self, worker: Worker, mate: Worker, lock: str) -> None:
        won = worker.hold(lock)
        answer = put(worker, lock, "user:ci", lease_id=won["lease_id"])
        assert answer.status_code == 200
        assert answer.json() == {"name": lock, "acl": {"acquire": ["user:ci"]}}
        put(worker, lock, "user:ci", "user:x", lease_id=won["lease_id"])
        assert worker.lock(lock)["acl"] == {"acquire": ["user:ci", "user:x"]}
        worker.release(lock, won["lease_id"])
        assert told(mate.acquire(lock)) == (403, "forbidden")

    def test_an_admin_may_also_for_a_name_nobody_held(self, worker: Worker, admin: Worker, lock: str) -> None:
        assert put(admin, lock, "user:deploy").status_code == 200
        assert worker.lock(lock)["status"] == "free"
        assert worker.lock(lock)["fencing_token"] is None
        assert told(worker.acquire(lock)) == (403, "forbidden")

    def test_whoever_does_not_hold_may_not(self, worker: Worker, lock: str) -> None:
        won = worker.hold(lock)
        assert told(put(worker, lock, "user:x")) == (403, "forbidden")
        assert told(put(worker, lock, "user:x", lease_id=UNKNOWN_LEASE)) == (404, "lease_not_current")
        worker.release(lock, won["lease_id"])
        assert told(put(worker, lock, "user:x", lease_id=won["lease_id"])) == (404, "lease_not_current")
        assert row(lock).acl is None

    def test_another_team_may_not(self, worker: Worker, outsider: Worker, lock: str) -> None:
        won = worker.hold(lock)
        assert told(put(outsider, lock, "user:x", lease_id=won["lease_id"])) == (404, "lease_not_current")
        put(outsider, lock, "user:x")
        assert "acl" not in worker.lock(lock)


class TestDeleting:
    def test_the_holder_may(self, worker: Worker, mate: Worker, lock: str) -> None:
        won = worker.hold(lock, acl={"acquire": ["user:ci"]})
        answer = delete(worker, lock, lease_id=won["lease_id"])
        assert (answer.status_code, answer.content) == (204, b"")
        worker.release(lock, won["lease_id"])
        mate.hold(lock)

    def test_an_admin_may_and_again(self, worker: Worker, admin: Worker, mate: Worker, lock: str) -> None:
        worker.hold(lock, acl={"acquire": ["user:ci"]})
        assert [delete(admin, lock).status_code for _ in range(2)] == [204, 204]
        assert mate.acquire(lock).json()["status"] == "held"

    def test_for_a_name_nobody_held_nothing_happens(self, admin: Worker, lock: str) -> None:
        assert delete(admin, lock).status_code == 204
        assert stored() == []

    def test_whoever_does_not_hold_may_not(self, worker: Worker, lock: str) -> None:
        worker.hold(lock, acl={"acquire": ["user:ci"]})
        assert told(delete(worker, lock)) == (403, "forbidden")
        assert told(delete(worker, lock, lease_id=UNKNOWN_LEASE)) == (404, "lease_not_current")


NO_ENTRIES: list[Any] = [
    [],
    ["ci"],
    ["user:"],
    ["user:a b"],
    ["user:a\nkey:aaaaaaaaaaaa"],
    ["user:" + "a" * 65],
    ["key:short"],
    ["key:aaaaaaaaaaaaa"],
    ["role:admin"],
    ["*"],
    ["user:ci", ""],
    [f"user:{n}" for n in range(65)],
]


class TestPutLadder(Ladder):
    method = "PUT"
    path = "/locks/{lock}/acl"
    body: ClassVar[Any] = {"acl": {"acquire": ["user:ci"]}}
    headers = {"X-Lease-Id": UNKNOWN_LEASE}

    def test_bad_entries_are_refused(self, worker: Worker, admin: Worker, lock: str) -> None:
        for entries in NO_ENTRIES:
            assert told(put(admin, lock, *entries)) == (400, "invalid_input"), entries
            answer = worker.acquire(lock, acl={"acquire": entries})
            assert told(answer) == (400, "invalid_input"), entries
            assert "acl.acquire" in answer.json()["details"]
        assert stored() == []

    def test_bad_shapes_are_named(self, worker: Worker, admin: Worker, lock: str) -> None:
        shapes: list[Any] = [1, "user:ci", [], {}, {"acquire": "user:ci"}, {"acquire": [1]}, {"acquire": None}]
        for bad in shapes:
            for answer in (
                admin.put(f"{address(lock)}/acl", json={"acl": bad}),
                worker.acquire(lock, acl=bad),
            ):
                assert told(answer) == (422, "invalid_input"), bad
                assert "acl" in answer.json()["details"]
        assert told(admin.put(f"{address(lock)}/acl", json={})) == (422, "invalid_input")

    def test_a_bad_lease_is_named(self, worker: Worker, lock: str) -> None:
        for bad in ("x", UNKNOWN_LEASE + "0"):
            answer = put(worker, lock, "user:ci", lease_id=bad)
            assert told(answer) == (400, "invalid_input")
            assert "X-Lease-Id" in answer.json()["details"]


class TestDeleteLadder(Ladder):
    method = "DELETE"
    path = "/locks/{lock}/acl"
    headers = {"X-Lease-Id": UNKNOWN_LEASE}
