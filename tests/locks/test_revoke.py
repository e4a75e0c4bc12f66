"""POST /locks/{name}/revoke: an admin ends exactly one term, and it is known who and why."""

from __future__ import annotations

from typing import Any, ClassVar

from octostore.teams.models import AuditEntry
from tests.elections.rooms import instant, told
from tests.locks.cast import Worker, expire, kinds, row, stored
from tests.locks.ladder import NO_LENGTHS, NO_TEXTS, Ladder, broken, misfits


class TestRevoking:
    def test_ends_the_term_and_answers_the_lock_as_it_is(self, worker: Worker, admin: Worker, lock: str) -> None:
        won = worker.hold(lock, holder="w", metadata="m")
        answer = admin.revoke(lock, won["fencing_token"])
        assert answer.status_code == 200
        assert answer.json() == worker.lock(lock)
        assert answer.json()["status"] == "free"
        assert told(worker.renew_lock(lock, won["lease_id"])) == (404, "lease_not_current")
        assert kinds(lock) == ["acquired", "revoked"]
        worker.hold(lock)

    def test_is_in_history_with_who_and_why(self, worker: Worker, admin: Worker, lock: str) -> None:
        won = worker.hold(lock)
        admin.revoke(lock, won["fencing_token"], reason="  worker-7 hangs \u2014 \u65e5\u672c  ")
        [term] = worker.terms(lock)
        assert (term["end"], term["reason"]) == ("removed", "worker-7 hangs \u2014 \u65e5\u672c")
        assert term["actor"] == f"key:{admin.visible}"
        assert instant(term["ended_at"]) == row(lock).ended_at

    def test_is_in_the_audit_with_the_request(self, worker: Worker, admin: Worker, lock: str) -> None:
        won = worker.hold(lock)
        answer = admin.revoke(lock, won["fencing_token"], reason="it hangs")
        [entry] = AuditEntry.objects.filter(action="lock_revoked")
        assert (entry.actor, entry.object, entry.reason) == (f"key:{admin.visible}", f"lock:{lock}", "it hangs")
        assert entry.before == {"fencing_token": won["fencing_token"]}
        assert entry.request_id == answer.headers["X-Request-Id"]

    def test_an_ephemeral_lock_is_revoked_like_any(self, worker: Worker, admin: Worker, lock: str) -> None:
        session = worker.begin()
        won = worker.hold(lock, session_id=session, ephemeral=True)
        assert admin.revoke(lock, won["fencing_token"]).status_code == 200
        assert worker.session(session)["active"] is True


class TestATermThatIsOver:
    def test_conflicts_and_leaves_the_next_one_alone(self, worker: Worker, admin: Worker, lock: str) -> None:
        first = worker.hold(lock)
        worker.release(lock, first["lease_id"])
        second = worker.hold(lock)
        before = stored()
        for term in (first["fencing_token"], second["fencing_token"] - 1, second["fencing_token"] + 1, 1, 2**53 - 1):
            assert told(admin.revoke(lock, term)) == (409, "conflict"), term
        assert stored() == before
        assert not AuditEntry.objects.filter(action="lock_revoked").exists()

    def test_conflicts_when_it_expired_or_was_revoked(self, worker: Worker, admin: Worker, lock: str) -> None:
        won = worker.hold(lock)
        expire(lock)
        assert told(admin.revoke(lock, won["fencing_token"])) == (409, "conflict")
        won = worker.hold(lock)
        admin.revoke(lock, won["fencing_token"])
        assert told(admin.revoke(lock, won["fencing_token"])) == (409, "conflict")

    def test_conflicts_for_a_name_nobody_held(self, admin: Worker, lock: str) -> None:
        assert told(admin.revoke(lock, 1)) == (409, "conflict")
        assert stored() == []

    def test_another_teams_term_is_none(self, worker: Worker, outsider: Worker, lock: str) -> None:
        won = worker.hold(lock)
        assert told(outsider.revoke(lock, won["fencing_token"])) == (409, "conflict")
        assert worker.lock(lock)["status"] == "held"


class TestLadder(Ladder):
    path = "/locks/{lock}/revoke"
    scope = "admin"
    body: ClassVar[Any] = {"fencing_token": 1, "reason": "it hangs"}

    def test_bad_fields_are_named(self, worker: Worker, admin: Worker, lock: str) -> None:
        worker.hold(lock)
        before = stored()
        out = broken({"0": "0", "-1": "-1", "2^53": str(2**53), "2^63": str(2**63)})
        self.refuses(admin, lock, misfits(NO_LENGTHS | {"null": "null"}) | out, "fencing_token")
        texts = broken({"empty": '""', "blank": '"  "', "501": '"' + "a" * 501 + '"', "NUL": '"a\\u0000"'})
        self.refuses(admin, lock, misfits(NO_TEXTS | {"null": "null"}) | texts, "reason")
        self.refuses(admin, lock, misfits(NO_LENGTHS) | broken({"-1": "-1", "31": "31"}), "delay_seconds")
        assert stored() == before
