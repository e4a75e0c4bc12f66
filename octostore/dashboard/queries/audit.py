"""A team's audit log: page by page, and as a whole for export."""

from __future__ import annotations

import json
from collections.abc import Iterator
from dataclasses import dataclass
from datetime import UTC, date, datetime, time, timedelta
from typing import Any, NamedTuple

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


class Change(NamedTuple):
    """One thing that was otherwise before, or is otherwise after; as JSON, empty for what was not told."""

    name: str
    before: str
    after: str


@dataclass(frozen=True, slots=True, kw_only=True)
class Entry:
    id: int
    at: datetime
    actor: str
    action: str
    object: str
    reason: str
    changes: list[Change]
    request_id: str


@dataclass(frozen=True, slots=True, kw_only=True)
class Page:
    entries: list[Entry]
    cursor: str | None


def page(team: Team, asked: Asked, cursor: str | None) -> Page:
    """The newest entries. Raises InvalidInput for a cursor of another walk."""
    walk = f"audit of {team.uuid} {asked}"
    before = cursors.unseal(walk, cursor)
    found = _wanted(team, asked)
    if before:
        found = found.filter(id__lt=int(before))
    entries = reading(lambda: list(found.order_by("-id")[: PAGE + 1]))
    shown, more = cursors.cut(walk, entries, PAGE, lambda entry: entry.pk)
    return Page(entries=[_entry(entry) for entry in shown], cursor=more)


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


def _entry(entry: AuditEntry) -> Entry:
    before, after = entry.before or {}, entry.after or {}
    return Entry(
        id=entry.pk,
        at=entry.at,
        actor=entry.actor,
        action=entry.action,
        object=entry.object,
        reason=entry.reason,
        changes=[
            Change(name, _as_json(before, name), _as_json(after, name)) for name in dict.fromkeys([*before, *after])
        ],
        request_id=entry.request_id,
    )


def _as_json(values: dict[str, Any], name: str) -> str:
    return json.dumps(values[name], ensure_ascii=False) if name in values else ""


def _wanted(team: Team, asked: Asked) -> QuerySet[AuditEntry]:
    found = AuditEntry.objects.filter(team=team, actor__icontains=asked.actor, object__icontains=asked.object)
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
