"""The audit log: added to, never changed, and never without what it tells of."""

from __future__ import annotations

import pytest
from django.db import DatabaseError, IntegrityError, connection

from octostore.teams import audit, keys, services
from octostore.teams.audit import Act
from octostore.teams.models import ApiKey, AuditEntry, Team
from tests.teams.cast import ACT, entries


def entry(team: Team | None) -> AuditEntry:
    audit.record(
        team_id=team.id if team else None,
        actor="staff:ann@example.org",
        action="lock_revoked",
        object="lock:repo/a",
        reason="it hangs",
        request_id="req_1",
        before={"term": 1},
    )
    return AuditEntry.objects.get()


class TestAppendOnly:
    def test_entry_says_who_did_what_to_what_and_why(self, team: Team) -> None:
        made = entry(team)
        assert (made.team, made.actor, made.action, made.object) == (
            team,
            "staff:ann@example.org",
            "lock_revoked",
            "lock:repo/a",
        )
        assert (made.reason, made.request_id, made.before, made.after) == ("it hangs", "req_1", {"term": 1}, None)

    def test_what_belongs_to_no_team_can_be_told(self, database: str) -> None:
        entry(None)
        assert [action for _, action, _ in entries(None)] == ["lock_revoked"]

    def test_models_refuse_to_change_or_remove(self, team: Team) -> None:
        made = entry(team)
        for forbidden in (made.save, made.delete, AuditEntry.objects.all().delete):
            with pytest.raises(TypeError):
                forbidden()
        with pytest.raises(TypeError):
            AuditEntry.objects.update(actor="nobody")

    def test_database_refuses_to_change(self, team: Team) -> None:
        entry(team)
        with connection.cursor() as cursor, pytest.raises(DatabaseError, match="never changed"):
            cursor.execute("UPDATE teams_auditentry SET actor = 'nobody'")
        assert AuditEntry.objects.get().actor == "staff:ann@example.org"

    @pytest.mark.only("postgresql")
    def test_database_refuses_to_remove(self, team: Team) -> None:
        entry(team)
        with connection.cursor() as cursor, pytest.raises(DatabaseError, match="never changed or removed"):
            cursor.execute("DELETE FROM teams_auditentry")
        assert AuditEntry.objects.count() == 1


class TestTogether:
    """A change and its entry are committed together, or neither is."""

    @pytest.fixture
    def no_entries(self, monkeypatch: pytest.MonkeyPatch) -> None:
        def fail(**_: object) -> None:
            raise IntegrityError("no entry can be added")

        monkeypatch.setattr(audit, "record", fail)

    @pytest.mark.usefixtures("no_entries")
    def test_no_key_without_its_entry(self, team: Team) -> None:
        with pytest.raises(IntegrityError):
            keys.create(team=team, name="ci", scopes=["read"], act=ACT)
        assert not ApiKey.objects.exists()

    @pytest.mark.usefixtures("no_entries")
    def test_no_quota_without_its_entry(self, team: Team) -> None:
        with pytest.raises(IntegrityError):
            services.set_quota(team=team, changes={"locks": 1}, act=Act(actor="system"))
        assert not Team.objects.exclude(quota=None).exists()
