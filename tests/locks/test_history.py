"""GET /locks/{name}/history: who held a lock, by which key, and how it ended."""

from __future__ import annotations

import pytest
from pytest_django.fixtures import Settings

from octostore.leases import reaper
from tests.elections.rooms import instant, told
from tests.locks.cast import Worker, address, expire, row
from tests.locks.ladder import Ladder


class TestHistory:
    def test_of_a_name_nobody_held_is_empty(self, worker: Worker, lock: str) -> None:
        assert worker.get(f"{address(lock)}/history").json() == {"name": lock, "terms": []}

    def test_tells_of_the_term_that_lasts(self, worker: Worker, lock: str) -> None:
        won = worker.hold(lock, holder="worker-7", metadata="secret plans")
        worker.renew_lock(lock, won["lease_id"])
        answer = worker.get(f"{address(lock)}/history")
        [term] = answer.json()["terms"]
        assert term == {
            "fencing_token": won["fencing_token"],
            "holder": "worker-7",
            "holder_id": worker.lock(lock)["holder_id"],
            "key": worker.visible,
            "began_at": term["began_at"],
            "end": None,
            "renewals": 1,
        }
        assert instant(term["began_at"]) == row(lock).began_at
        assert won["lease_id"] not in answer.text
        assert "secret plans" not in answer.text

    def test_tells_how_each_ended_newest_first(self, worker: Worker, mate: Worker, admin: Worker, lock: str) -> None:
        worker.release(lock, worker.hold(lock)["lease_id"])
        admin.revoke(lock, mate.hold(lock)["fencing_token"], reason="it hangs")
        worker.hold(lock)
        expire(lock)
        deadline = row(lock).expires_at
        terms = worker.terms(lock)
        assert [term["end"] for term in terms] == ["expired", "removed", "released"]
        assert [term["key"] for term in terms] == [worker.visible, mate.visible, worker.visible]
        assert [term.get("reason") for term in terms] == [None, "it hangs", None]
        assert [term.get("actor") for term in terms] == [None, f"key:{admin.visible}", None]
        assert instant(terms[0]["ended_at"]) == deadline
        assert len({term["holder_id"] for term in terms}) == 3

    def test_tells_that_a_session_ended_it(self, worker: Worker, lock: str) -> None:
        session = worker.begin()
        worker.hold(lock, session_id=session, ephemeral=True)
        worker.delete(f"/sessions/{session}")
        [term] = worker.terms(lock)
        assert (term["end"], term["reason"]) == ("released", "session_deleted")
        assert session not in str(term)

    def test_another_teams_is_empty(self, worker: Worker, outsider: Worker, lock: str) -> None:
        worker.hold(lock)
        assert outsider.terms(lock) == []

    def test_keeps_so_many_terms(self, worker: Worker, lock: str, settings: Settings) -> None:
        settings.TERMS_KEPT = 3
        for _ in range(5):
            worker.release(lock, worker.hold(lock)["lease_id"])
        assert len(worker.terms(lock)) == 3
        reaper.trim(terms_kept=3)
        assert len(worker.terms(lock)) == 3

    def test_may_be_asked_for_a_few(self, worker: Worker, lock: str) -> None:
        for _ in range(3):
            worker.release(lock, worker.hold(lock)["lease_id"])
        terms = worker.get(f"{address(lock)}/history", params={"limit": 2}).json()["terms"]
        assert terms == worker.terms(lock)[:2]

    @pytest.mark.parametrize("bad", ["0", "-1", "201", "abc", "", "1e1"])
    def test_a_bad_limit_is_named(self, worker: Worker, lock: str, bad: str) -> None:
        answer = worker.get(f"{address(lock)}/history", params={"limit": bad})
        assert told(answer) == (400, "invalid_input")
        assert "limit" in answer.json()["details"]


class TestLadder(Ladder):
    method = "GET"
    path = "/locks/{lock}/history"
    scope = "read"
