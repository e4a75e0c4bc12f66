"""The engine's verbs in few words, and what they leave in the tables."""

from __future__ import annotations

from datetime import timedelta
from typing import Any

from octostore.leases import engine, groups
from octostore.leases.engine import Acquired, Membership
from octostore.leases.models import Lease, LeaseEvent, LeaseGroup
from octostore.leases.outcomes import Alive, Delayed, Granted, GroupOver, GroupUnknown, Held, Released, Vacant

SPACE = "tests"
NAME = "nightly-build"
GROUP = "worker-7"
MINUTE = timedelta(minutes=1)
SECOND = timedelta(seconds=1)
DAY = timedelta(days=1)
MILLISECOND = timedelta(milliseconds=1)


def acquire(
    name: str = NAME, *, space: str = SPACE, holder: str = "atlas", ttl: timedelta = MINUTE, **more: Any
) -> Acquired:
    return engine.acquire(space, name, holder=holder, ttl=ttl, **more)


def grant(name: str = NAME, **content: Any) -> Granted:
    """Acquire a name that can be had."""
    outcome = acquire(name, **content)
    assert isinstance(outcome, Granted), outcome
    return outcome


def renew(granted: Granted, name: str = NAME, *, ttl: timedelta | None = None) -> Granted:
    return engine.renew(SPACE, name, capability=granted.capability, ttl=ttl)


def release(granted: Granted, name: str = NAME, *, delayed: bool = False) -> Released:
    return engine.release(SPACE, name, capability=granted.capability, delayed=delayed)


def inspect(name: str = NAME) -> Held | Delayed | Vacant:
    return engine.inspect(SPACE, name)


def settle(name: str = NAME) -> Held | Delayed | Vacant:
    return engine.settle(SPACE, name)


def form(key: str = GROUP, *, space: str = SPACE, ttl: timedelta = MINUTE) -> Alive:
    return groups.form(space, key, ttl=ttl)


def keep(key: str = GROUP) -> Alive | GroupOver | GroupUnknown:
    return groups.keep(SPACE, key)


def dissolve(key: str = GROUP) -> Alive | GroupOver | GroupUnknown:
    return groups.dissolve(SPACE, key, reason="left")


def look(key: str = GROUP) -> Alive | GroupOver | GroupUnknown:
    return groups.inspect(SPACE, key)


def bound(key: str = GROUP) -> Membership:
    """Acquires within a group, and ends with it."""
    return Membership(key=key, bound=True)


def unbound(key: str = GROUP) -> Membership:
    return Membership(key=key)


def group_row(key: str = GROUP) -> LeaseGroup:
    return LeaseGroup.objects.get(space=SPACE, key=key)


def row(name: str = NAME) -> Lease:
    return Lease.objects.get(space=SPACE, name=name)


def recorded(name: str = NAME) -> list[LeaseEvent]:
    """The name's events in the order of their counts."""
    return list(LeaseEvent.objects.filter(lease_id=row(name).pk).order_by("incarnation", "n"))


def story(name: str = NAME) -> list[tuple[int, str]]:
    """The name's events as (count, kind)."""
    return [(event.n, event.kind) for event in recorded(name)]
