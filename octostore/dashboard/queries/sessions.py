"""The sessions of a team: under their pseudonyms, for a session's id is a secret of whoever made it."""

from __future__ import annotations

from dataclasses import dataclass
from datetime import timedelta

from django.db.models import Count, Q, QuerySet

from locks import sessions
from octostore.api import cursors
from octostore.dashboard.queries import leases
from octostore.dashboard.queries.keys import names_of
from octostore.dashboard.queries.leases import Line
from octostore.leases.models import Ending, Lease, LeaseGroup
from octostore.teams.models import Membership

PAGE = 50
STATUSES = ("active", "ended")


@dataclass(frozen=True, slots=True, kw_only=True)
class Session:
    """Instants and lengths in milliseconds."""

    # In its address; says nothing of the id.
    number: int
    pseudonym: str
    # `active`, or how it ended: `released`, `expired`.
    status: str
    charged_to: str
    key_name: str
    ttl_ms: int
    began_at: int
    expires_at: int
    ended_at: int | None
    # How many locks it holds.
    held: int

    @property
    def ttl(self) -> timedelta:
        return timedelta(milliseconds=self.ttl_ms)

    @property
    def kept_at(self) -> int:
        """When it last said that it lives, or began."""
        return self.expires_at - self.ttl_ms


@dataclass(frozen=True, slots=True, kw_only=True)
class Page:
    sessions: list[Session]
    at: int
    cursor: str | None


@dataclass(frozen=True, slots=True, kw_only=True)
class Detail:
    session: Session
    at: int
    held: list[Line]


def page(by: Membership, status: str, cursor: str | None) -> Page:
    """The newest sessions that are active, or ended lately. Raises InvalidInput for a cursor of another walk."""
    at = leases.now()
    walk = f"page of sessions {by.lock_space} {status}"
    before = cursors.unseal(walk, cursor)
    lives = Q(ended_at=None, expires_at__gt=at)
    found = LeaseGroup.objects.filter(lives if status == "active" else ~lives, space=by.lock_space)
    if before:
        found = found.filter(id__lt=int(before))
    sessions_found = _sessions(by, found.order_by("-id")[: PAGE + 1], at)
    shown, more = cursors.cut(walk, sessions_found, PAGE, lambda session: session.number)
    return Page(sessions=shown, at=at, cursor=more)


def detail(by: Membership, number: int) -> Detail | None:
    """One session and what it holds; None for what is none of the team's."""
    at = leases.now()
    found = LeaseGroup.objects.filter(space=by.lock_space, pk=number)
    shown = _sessions(by, found, at)
    if not shown:
        return None
    held = Lease.objects.filter(leases.live(at), space=by.lock_space, group_id__in=found.values("key")).order_by("name")
    return Detail(session=shown[0], at=at, held=leases.lines(held, by.lock_space, at))


def _sessions(by: Membership, found: QuerySet[LeaseGroup], at: int) -> list[Session]:
    groups = leases.rows(found)
    held = Lease.objects.filter(leases.live(at), space=by.lock_space, group_id__in=[group.key for group in groups])
    counts = dict(leases.rows(held.order_by().values_list("group_id").annotate(Count("id"))))
    names = names_of(by, {group.charged_to for group in groups})
    return [
        Session(
            number=group.pk,
            pseudonym=sessions.pseudonym(group.key),
            status=_status(group, at),
            charged_to=group.charged_to,
            key_name=names.get(group.charged_to, ""),
            ttl_ms=group.ttl_ms,
            began_at=group.began_at,
            expires_at=group.expires_at,
            ended_at=group.ended_at if group.ended_at else group.expires_at if group.expires_at <= at else None,
            held=counts.get(group.key, 0),
        )
        for group in groups
    ]


def _status(group: LeaseGroup, at: int) -> str:
    if group.ended_at is None:
        return "active" if group.expires_at > at else Ending.EXPIRED.value
    return group.ending
