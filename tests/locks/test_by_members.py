"""What members of a team do to its locks and sessions on a page: named in history and audit, never by a secret."""

from __future__ import annotations

from datetime import timedelta

import pytest

from locks import services, sessions
from octostore.leases.models import LeaseGroup
from octostore.lib.errors import Conflict, NotFound, SessionExpired
from octostore.teams.models import AuditEntry, Membership, Role, Team
from tests.locks.cast import Worker, expire_session
from tests.teams.cast import found_team, join


@pytest.fixture
def member(team: Team) -> Membership:
    return join(team, Role.ADMIN)


def terminate(member: Membership, session_id: str) -> None:
    number = LeaseGroup.objects.get(key=session_id).pk
    sessions.terminate(principal=member, number=number, reason="it hangs", request_id="req_1")


class TestRevoking:
    def test_member_is_named_in_history_and_audit(self, worker: Worker, member: Membership, lock: str) -> None:
        won = worker.hold(lock)
        services.revoke(
            principal=member,
            name=lock,
            term=won["fencing_token"],
            reason="it hangs",
            delay=timedelta(0),
            request_id="req_1",
        )
        [term] = worker.terms(lock)
        assert (term["end"], term["actor"], term["reason"]) == ("removed", f"user:{member.user.email}", "it hangs")
        entry = AuditEntry.objects.get(action="lock_revoked")
        assert (entry.team, entry.actor, entry.request_id) == (member.team, f"user:{member.user.email}", "req_1")

    def test_lock_of_another_team_is_none(self, worker: Worker, lock: str) -> None:
        won = worker.hold(lock)
        with pytest.raises(Conflict):
            services.revoke(
                principal=join(found_team(), Role.OWNER),
                name=lock,
                term=won["fencing_token"],
                reason="it hangs",
                delay=timedelta(0),
                request_id="",
            )
        assert worker.lock(lock)["status"] == "held"


class TestTerminating:
    def test_ephemeral_locks_go_and_others_stay(self, worker: Worker, member: Membership, lock: str) -> None:
        session_id = worker.begin()
        worker.hold(lock, session_id=session_id, ephemeral=True)
        worker.hold(f"{lock}-own", session_id=session_id)
        terminate(member, session_id)
        assert worker.session(session_id)["active"] is False
        assert worker.lock(lock)["status"] == "free"
        assert worker.lock(f"{lock}-own")["status"] == "held"

    def test_audit_names_the_session_as_its_locks_do(self, worker: Worker, member: Membership, lock: str) -> None:
        session_id = worker.begin()
        worker.hold(lock, session_id=session_id)
        holder_id = worker.lock(lock)["holder_id"]
        terminate(member, session_id)
        entry = AuditEntry.objects.get(action="session_terminated")
        assert (entry.team, entry.actor, entry.object, entry.reason, entry.request_id) == (
            member.team,
            f"user:{member.user.email}",
            f"session:{holder_id}",
            "it hangs",
            "req_1",
        )
        assert session_id not in repr(list(AuditEntry.objects.values()))

    def test_ended_session_is_told_and_not_audited(self, worker: Worker, member: Membership) -> None:
        session_id = worker.begin()
        expire_session(session_id)
        with pytest.raises(SessionExpired):
            terminate(member, session_id)
        assert not AuditEntry.objects.filter(action="session_terminated").exists()

    def test_session_of_another_team_is_not_found(self, worker: Worker) -> None:
        session_id = worker.begin()
        with pytest.raises(NotFound):
            terminate(join(found_team(), Role.OWNER), session_id)
        with pytest.raises(NotFound):
            sessions.terminate(principal=join(found_team()), number=2**62, reason="", request_id="")
        assert worker.session(session_id)["active"] is True
