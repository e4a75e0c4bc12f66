"""A row as the outcome it means."""

from __future__ import annotations

import time
from datetime import timedelta

from octostore.leases.models import Ending
from octostore.leases.outcomes import Delayed, Granted, Held, Hold, Revision, Vacant
from octostore.leases.rows import Row
from octostore.lib import secrets


def state(row: Row | None) -> Held | Delayed | Vacant:
    if row is None:
        # Nobody has ever held it; the instant is for information, and the database was not asked for it.
        return Vacant(last=None, revision=Revision(incarnation=0, n=0), observed_at=time.time_ns() // 1_000_000)
    revision = Revision(incarnation=row.incarnation, n=row.events)
    if row.is_live:
        remaining = length(row.expires_at - row.now)
        return Held(hold=hold(row), remaining=remaining, revision=revision, observed_at=row.now)
    if row.term and row.is_delayed:
        remaining = length(row.open_at - row.now)
        return Delayed(
            last=hold(row),
            available_at=row.open_at,
            remaining=remaining,
            revision=revision,
            observed_at=row.now,
        )
    return Vacant(last=hold(row) if row.term else None, revision=revision, observed_at=row.now)


def granted(row: Row, capability: str, *, replayed: bool = False) -> Granted:
    remaining = length(row.expires_at - row.now)
    return Granted(hold=hold(row), capability=capability, remaining=remaining, replayed=replayed)


def hold(row: Row) -> Hold:
    return Hold(
        term=row.term,
        holder=row.holder,
        metadata=row.metadata,
        group_id=row.group_id,
        ttl=length(row.ttl_ms),
        delay=length(row.delay_ms),
        began_at=row.began_at,
        expires_at=row.expires_at,
        renewals=row.renewals,
        charged_to=row.charged_to,
        bound=row.bound,
        ended_at=row.expires_at if row.is_overdue else row.ended_at,
        ending=Ending.EXPIRED if row.is_overdue else Ending(row.ending) if row.ending else None,
    )


def same(left: bytes | None, right: bytes | None) -> bool:
    return left is not None and right is not None and secrets.same(bytes(left), right)


def milliseconds(length: timedelta) -> int:
    return round(length.total_seconds() * 1000)


def length(milliseconds: int) -> timedelta:
    return timedelta(milliseconds=milliseconds)
