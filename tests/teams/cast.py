"""People and teams, in every role."""

from __future__ import annotations

from uuid import uuid4

from octostore.teams.audit import Act
from octostore.teams.models import AuditEntry, Membership, Role, Team, User

ACT = Act(actor="system")


def found_team() -> Team:
    return Team.objects.create(slug=f"team-{uuid4().hex[:12]}")


def person(name: str = "") -> User:
    """Somebody without a password: sign-in has tests of its own, and hashing is slow."""
    return User.objects.create(email=f"{name or uuid4().hex[:12]}@example.org", password="!")


def join(team: Team, role: Role = Role.MEMBER, user: User | None = None) -> Membership:
    return Membership.objects.create(team=team, user=user or person(), role=role)


def entries(team: Team | None) -> list[tuple[str, str, str]]:
    """Who did what to what in the team, in order."""
    found = AuditEntry.objects.filter(team=team).order_by("id")
    return [(entry.actor, entry.action, entry.object) for entry in found]
