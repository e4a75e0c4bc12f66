"""A team's endpoints: made, changed, switched off and on, deleted; and their signing secrets.

Whatever may change which events are owed to a team happens under the team's row lock. Who switches off
or deletes cancels what waits: it sends nothing that was not under way.
"""

from __future__ import annotations

import re
import uuid
from collections.abc import Sequence
from dataclasses import dataclass
from datetime import timedelta
from typing import Self
from urllib.parse import urlsplit

from django.conf import settings
from django.db.models import QuerySet
from django.utils import timezone

from octostore.leases import owed
from octostore.lib import outbound
from octostore.lib.errors import Conflict, Forbidden, InvalidInput, NotFound
from octostore.teams.audit import Act
from octostore.teams.models import Membership, Team
from octostore.teams.principals import Principal, lock_space
from octostore.teams.writing import changing, reading
from webhooks import messages, sealing, signing
from webhooks.models import Delivery, Endpoint

OVERLAP = timedelta(hours=24)

_UUID = re.compile(r"[0-9a-f]{8}(?:-[0-9a-f]{4}){3}-[0-9a-f]{12}", re.IGNORECASE)


@dataclass(frozen=True, slots=True, kw_only=True)
class Manager:
    """Who looks after a team's endpoints: an API key, which may be for some locks alone, or a member."""

    team_id: int
    team_uuid: str
    # The beginning of all locks that may be told of; None for all.
    prefix: str | None = None
    act: Act

    @classmethod
    def of(cls, principal: Principal, *, request_id: str) -> Self:
        return cls(
            team_id=principal.team_id,
            team_uuid=principal.team_uuid,
            prefix=principal.prefix,
            act=Act(actor=principal.actor, request_id=request_id),
        )

    @classmethod
    def of_member(cls, by: Membership, *, request_id: str = "") -> Self:
        return cls(team_id=by.team_id, team_uuid=str(by.team.uuid), act=Act(actor=by.actor, request_id=request_id))


def create(*, by: Manager, url: str, events: Sequence[str], lock_pattern: str | None, secret: str | None) -> Endpoint:
    """A new endpoint, with a secret of its own where none is given.

    Raises InvalidInput for a URL that may not be called, Forbidden for locks outside the key's prefix,
    and Conflict beyond the number a team may have.
    """
    pattern = _within(by, lock_pattern if lock_pattern is not None else f"{by.prefix or ''}{messages.EVERY}")
    endpoint = Endpoint(
        uuid=uuid.uuid4(),
        team_id=by.team_id,
        url=_callable(url),
        events=_joined(events),
        lock_pattern=pattern,
        created_by=by.act.actor,
    )
    endpoint.secret = sealing.seal(endpoint, secret or signing.mint_secret())
    with changing():
        hold(by.team_id)
        if _there(by.team_id).count() >= settings.WEBHOOKS_MAX:
            raise Conflict(f"A team has at most {settings.WEBHOOKS_MAX} webhooks")
        endpoint.save(force_insert=True)
        _follow(by)
        by.act.record(by.team_id, "webhook_created", _named(endpoint), after=_told(endpoint))
    return endpoint


def walk(*, by: Manager) -> list[Endpoint]:
    """All endpoints of the team, the oldest first; for a key with a prefix those within it."""
    found = reading(lambda: list(_there(by.team_id).order_by("id")))
    return [endpoint for endpoint in found if _covers(by, endpoint.lock_pattern)]


def find(*, by: Manager, public_id: str) -> Endpoint:
    """Raises NotFound, for another team's too."""
    known = as_uuid(public_id)
    endpoint = reading(lambda: _there(by.team_id).filter(uuid=known).first())
    if endpoint is None or not _covers(by, endpoint.lock_pattern):
        raise NotFound
    return endpoint


def change(
    *,
    by: Manager,
    public_id: str,
    url: str | None = None,
    events: Sequence[str] | None = None,
    lock_pattern: str | None = None,
    active: bool | None = None,
) -> Endpoint:
    """Change what is given. Switched off, nothing that waits is sent; switched on, what comes from then on is."""
    with changing():
        endpoint = held(by=by, public_id=public_id)
        before, old_url = _told(endpoint), endpoint.url
        # How it does is kept meanwhile by whoever calls it.
        changed = {"url", "events", "lock_pattern", "off", "off_at", "owners_told_at"}
        if url is not None and url != endpoint.url:
            # How the old one did says nothing of the new one.
            endpoint.url, endpoint.failing_since, endpoint.last_success_at = _callable(url), None, None
            changed |= {"failing_since", "last_success_at"}
        if events is not None:
            endpoint.events = _joined(events)
        if lock_pattern is not None:
            endpoint.lock_pattern = _within(by, lock_pattern)
        if active is False and endpoint.is_active:
            _stop(endpoint, Endpoint.Off.ASKED)
        if active and not endpoint.is_active:
            # What was taken over beside its switching off waits still.
            _cancel(endpoint)
            endpoint.off, endpoint.off_at, endpoint.failing_since, endpoint.owners_told_at = "", None, None, None
            changed.add("failing_since")
        endpoint.save(update_fields=changed)
        _follow(by)
        # A URL may differ in what the audit does not tell.
        if before != _told(endpoint) or old_url != endpoint.url:
            by.act.record(by.team_id, "webhook_changed", _named(endpoint), before=before, after=_told(endpoint))
    return endpoint


def delete(*, by: Manager, public_id: str) -> None:
    """From now on there is no such endpoint, and nothing that waits is sent."""
    with changing():
        endpoint = held(by=by, public_id=public_id)
        endpoint.deleted_at = timezone.now()
        _cancel(endpoint)
        endpoint.save(update_fields=["deleted_at"])
        _follow(by)
        by.act.record(by.team_id, "webhook_deleted", _named(endpoint), before=_told(endpoint))


def rotate(*, by: Manager, public_id: str, secret: str | None = None, now: bool = False) -> tuple[Endpoint, str]:
    """A new signing secret; the old one signs beside it for a day, or with `now` no more."""
    fresh = secret or signing.mint_secret()
    with changing():
        endpoint = held(by=by, public_id=public_id)
        if now:
            endpoint.previous_secret, endpoint.previous_until = "", None
        else:
            endpoint.previous_secret, endpoint.previous_until = endpoint.secret, timezone.now() + OVERLAP
        endpoint.secret = sealing.seal(endpoint, fresh)
        endpoint.save(update_fields=["secret", "previous_secret", "previous_until"])
        by.act.record(by.team_id, "webhook_secret_rotated", _named(endpoint), after={"old_signs_on": not now})
    return endpoint, fresh


def switch_off(endpoint: Endpoint, why: Endpoint.Off) -> None:
    """What the receiver brought about, within a transaction that holds the team."""
    _stop(endpoint, why)
    endpoint.save(update_fields=["off", "off_at", "owners_told_at"])
    by = Manager(team_id=endpoint.team_id, team_uuid=str(endpoint.team.uuid), act=Act(actor="system", reason=why))
    _follow(by)
    by.act.record(endpoint.team_id, "webhook_switched_off", _named(endpoint))


def hold(team_id: int) -> None:
    """The team's row lock, until the transaction is over."""
    Team.objects.select_for_update(no_key=True).get(pk=team_id)


def held(*, by: Manager, public_id: str) -> Endpoint:
    """The endpoint as it stands under the team's lock. Raises NotFound."""
    hold(by.team_id)
    return find(by=by, public_id=public_id)


def shown(url: str) -> str:
    """A URL without what may be secret in it."""
    parts = urlsplit(url)
    return f"{parts.scheme}://{parts.netloc}{parts.path}"


def policy() -> outbound.Policy:
    """What may be called."""
    return outbound.Policy(allow_private=settings.WEBHOOK_ALLOW_PRIVATE, own=settings.OWN_SERVICES)


def as_uuid(public_id: str) -> uuid.UUID:
    """Raises NotFound for what can be no id."""
    if not _UUID.fullmatch(public_id):
        raise NotFound
    return uuid.UUID(public_id)


def _there(team_id: int) -> QuerySet[Endpoint]:
    return Endpoint.objects.filter(team_id=team_id, deleted_at=None)


def _stop(endpoint: Endpoint, why: Endpoint.Off) -> None:
    endpoint.off, endpoint.off_at, endpoint.owners_told_at = why, timezone.now(), None
    _cancel(endpoint)


def _cancel(endpoint: Endpoint) -> None:
    waiting = Delivery.objects.filter(endpoint=endpoint, state=Delivery.State.PENDING)
    waiting.update(state=Delivery.State.CANCELLED, ended_at=timezone.now())


def _follow(by: Manager) -> None:
    """Owed from now on is what some active endpoint may ask for."""
    asked = list(_there(by.team_id).filter(off="").values_list("events", flat=True))
    space = lock_space(by.team_uuid)
    if asked:
        owed.follow(space, renewals=any(map(messages.asks_for_renewals, asked)))
    else:
        owed.unfollow(space)


def _callable(url: str) -> str:
    try:
        outbound.check(url, policy())
    except outbound.Refused as refused:
        raise InvalidInput(f"url cannot be called: {refused}") from refused
    return url


def _joined(events: Sequence[str]) -> str:
    return messages.EVERY if messages.EVERY in events else " ".join(kind for kind in messages.KINDS if kind in events)


def _within(by: Manager, pattern: str) -> str:
    if not _covers(by, pattern):
        raise Forbidden("This key is for other names")
    return pattern


def _covers(by: Manager, pattern: str) -> bool:
    return by.prefix is None or pattern.removesuffix(messages.EVERY).startswith(by.prefix)


def _named(endpoint: Endpoint) -> str:
    return f"webhook:{endpoint.uuid}"


def _told(endpoint: Endpoint) -> dict[str, object]:
    """What the audit says of it."""
    return {
        "url": shown(endpoint.url),
        "events": endpoint.events,
        "lock_pattern": endpoint.lock_pattern,
        "active": endpoint.is_active,
    }
