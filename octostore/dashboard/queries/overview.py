"""A team at a glance: what is held, what needs somebody, what happened last, and what a new team does first."""

from __future__ import annotations

from dataclasses import dataclass

from django.db.models import Count
from django.db.models.functions import Coalesce, Greatest
from django.utils import timezone

from octostore.dashboard.queries import keys, leases, usage, webhooks
from octostore.dashboard.queries.keys import Key
from octostore.dashboard.queries.usage import Used
from octostore.dashboard.queries.webhooks import Webhook
from octostore.leases import pseudonyms
from octostore.leases.models import Lease, LeaseEvent
from octostore.teams import invitations
from octostore.teams.models import Invitation, Membership
from octostore.teams.writing import reading
from webhooks.endpoints import Manager

EVENTS = 20
FLAPPING = 20


@dataclass(frozen=True, slots=True, kw_only=True)
class Event:
    """One recorded fact of one of the team's locks."""

    name: str
    kind: str
    term: int
    holder: str
    holder_id: str
    at: int
    reason: str
    actor: str

    @property
    def short_term(self) -> str:
        """Its last six digits."""
        return str(self.term)[-6:]


@dataclass(frozen=True, slots=True, kw_only=True)
class Steps:
    """What a new team has done already."""

    has_key: bool
    has_lock: bool
    has_webhook: bool
    has_company: bool

    @property
    def are_done(self) -> bool:
        return self.has_key and self.has_lock and self.has_webhook and self.has_company


@dataclass(frozen=True, slots=True, kw_only=True)
class Overview:
    at: int
    held: int
    expiring: int
    # Names of locks that change hands too often.
    flapping: list[str]
    expiring_keys: list[Key]
    invitations: list[Invitation]
    # Those that fail, and those that were switched off for it.
    failing_webhooks: list[Webhook]
    fullest: Used
    events: list[Event]
    steps: Steps

    @property
    def is_calm(self) -> bool:
        needing = (self.flapping, self.failing_webhooks, self.expiring_keys, self.invitations)
        return not (any(needing) or self.fullest.is_near)


def overview(by: Membership) -> Overview:
    at = leases.now()
    space = by.lock_space
    counts = leases.rows(
        Lease.objects.filter(leases.live(at), space=space)
        .values_list("space")
        .annotate(Count("id"), late=Count("id", filter=leases.of_status("expiring", at)))
    )
    [(_, held, expiring)] = counts or [(space, 0, 0)]
    events = _events(space)
    usable = keys.listing(by.team)
    called = webhooks.listing(Manager.of_member(by))
    return Overview(
        at=at,
        held=held,
        expiring=expiring,
        flapping=_flapping(space, at),
        expiring_keys=[key for key in usable if key.status == "expiring"],
        invitations=[one for one in invitations.pending(team=by.team) if one.expires_at > timezone.now()],
        failing_webhooks=[one for one in called if one.needs_attention],
        fullest=max(usage.usage(by), key=lambda used: used.share),
        events=events,
        steps=Steps(
            has_key=bool(usable),
            has_lock=bool(events),
            has_webhook=bool(called),
            has_company=reading(lambda: by.team.memberships.count()) > 1,
        ),
    )


def _events(space: str) -> list[Event]:
    """The last events of the space; by way of the names that changed last, so that no other space is read."""
    changed = Greatest("began_at", Coalesce("ended_at", 0))
    names = leases.rows(
        Lease.objects.filter(space=space, term__gt=0).order_by(changed.desc()).values_list("id", "name")[:EVENTS]
    )
    recorded = LeaseEvent.objects.filter(lease_id__in=[lease_id for lease_id, _ in names]).order_by("-at", "-id")
    called = dict(names)
    return [
        Event(
            name=called[event.lease_id],
            kind=event.kind,
            term=event.term,
            holder=event.holder,
            holder_id=pseudonyms.holder_id(space, called[event.lease_id], term=event.term, group_id=event.group_id),
            at=event.at,
            reason=event.reason,
            actor=event.actor,
        )
        for event in leases.rows(recorded[:EVENTS])
    ]


def _flapping(space: str, at: int) -> list[str]:
    found = Lease.objects.filter(id__in=list(leases.flapping_in(space, at))[:FLAPPING]).order_by("name")
    return [name for (name,) in leases.rows(found.values_list("name"))]
