"""A team's audit log: page by page, and as a whole for export."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from datetime import UTC, date, datetime, time, timedelta

from django.db.models import Q, QuerySet

from octostore.api import cursors
from octostore.teams.models import AuditEntry, Team
from octostore.teams.writing import reading

PAGE = 50
EXPORT_MAX = 50_000
BATCH = 500
# The beginnings of the actions that belong together.
GROUPS = {
    "keys": ("key_",),
    "members": ("member_", "invitation_", "role_"),
    "locks": ("lock_",),
    "sessions": ("session_",),
    "webhooks": ("webhook_", "endpoint_", "delivery_"),
    "team": ("team_", "quota_", "audit_"),
}


@dataclass(frozen=True, slots=True, kw_only=True)
class Asked:
    """Which entries are wanted, days in UTC, both included; empty is no condition."""

    actor: str = ""
    # One of `GROUPS`.
    group: str = ""
    object: str = ""
    since: date | None = None
    until: date | None = None

    def as_json(self) -> dict[str, str]:
        """What was asked for, as the audit keeps it of an export."""
        given = {"actor": self.actor, "group": self.group, "object": self.object}
        days = {"since": self.since, "until": self.until}
        return {name: text for name, text in given.items() if text} | {
            name: day.isoformat() for name, day in days.items() if day
        }


@dataclass(frozen=True, slots=True, kw_only=True)
class Page:
    entries: list[AuditEntry]
    cursor: str | None


def page(team: Team, asked: Asked, cursor: str | None) -> Page:
    """The newest entries. Raises InvalidInput for a cursor of another walk."""
    walk = f"audit of {team.uuid} {asked}"
    before = cursors.unseal(walk, cursor)
    found = _wanted(team, asked)
    if before:
        found = found.filter(id__lt=int(before))
    entries = reading(lambda: list(found.order_by("-id")[: PAGE + 1]))
    more = len(entries) > PAGE
    return Page(entries=entries[:PAGE], cursor=cursors.seal(walk, str(entries[PAGE - 1].pk)) if more else None)


def export(team: Team, asked: Asked) -> Iterator[AuditEntry]:
    """The newest entries up to `EXPORT_MAX`, read batch by batch; what is added meanwhile is not among them."""
    found = _wanted(team, asked).order_by("-id")
    before: int | None = None
    for _ in range(EXPORT_MAX // BATCH):
        rest = found if before is None else found.filter(id__lt=before)
        batch = reading(lambda rest=rest: list(rest[:BATCH]))  # type: ignore[misc]
        yield from batch
        if len(batch) < BATCH:
            return
        before = batch[-1].pk


def _wanted(team: Team, asked: Asked) -> QuerySet[AuditEntry]:
    found = AuditEntry.objects.filter(team=team, actor__contains=asked.actor, object__contains=asked.object)
    if asked.group:
        is_of_group = Q()
        for beginning in GROUPS[asked.group]:
            is_of_group |= Q(action__startswith=beginning)
        found = found.filter(is_of_group)
    if asked.since:
        found = found.filter(at__gte=_midnight(asked.since))
    if asked.until:
        found = found.filter(at__lt=_midnight(asked.until) + timedelta(days=1))
    return found


def _midnight(day: date) -> datetime:
    return datetime.combine(day, time(), UTC)
