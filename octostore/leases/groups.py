"""Groups: holders of many leases that live as long as they say so. Sessions of locks are groups.

Whoever judges a group locks its row before any lease's. A lease that is bound to a group carries the
group's deadline in its own row, moved by every keepalive under that lock, so acquirers, readers and
the sweep judge a lease by its row alone.
"""

from __future__ import annotations

from datetime import timedelta

from octostore.leases import storage
from octostore.leases.models import LeaseGroup
from octostore.leases.outcomes import Alive, GroupOver, GroupUnknown
from octostore.leases.readings import length, milliseconds
from octostore.leases.rows import Group
from octostore.leases.signals import lease_changed


def form(space: str, key: str, *, ttl: timedelta, charged_to: str = "") -> Alive:
    """Begin a group that lives for `ttl` from now, and from each keepalive; `key` is new and nobody's yet."""
    ttl_ms = milliseconds(ttl)
    group = storage.run(lambda transitions: transitions.form(space, key, charged_to, ttl_ms))
    if group is None:
        raise ValueError("a group of another space has this key")
    return _alive(group)


def inspect(space: str, key: str) -> Alive | GroupOver | GroupUnknown:
    """Whether the group lives; one past its deadline is ended by the asking, so that it stays so."""
    group = storage.run(lambda transitions: transitions.read_group(space, key))
    if group and group.is_overdue:
        # Under its lock: a keepalive may have been faster.
        storage.run(lambda transitions: transitions.settle_group(space, key))
        group = storage.run(lambda transitions: transitions.read_group(space, key))
    if group is None:
        return GroupUnknown()
    return _alive(group) if group.ended_at is None else GroupOver(key=key, ended_at=group.ended_at)


def key_of(space: str, number: int) -> str | None:
    """The key of the space's group of this number (`Alive.id`, which is no secret); None where there is none."""
    found = storage.read(LeaseGroup.objects.filter(space=space, pk=number))
    return found[0].key if found else None


def keep(space: str, key: str) -> Alive | GroupOver | GroupUnknown:
    """Let the group, and with it what is bound to it, live for its TTL from now."""
    kept = storage.run(lambda transitions: transitions.keep(space, key))
    return _alive(kept) if kept else inspect(space, key)


def dissolve(space: str, key: str, *, reason: str) -> Alive | GroupOver | GroupUnknown:
    """End the group, and in the same instant what is bound to it; Alive tells of the group that was.

    `reason` is recorded with each term that ends so.
    """
    dissolved = storage.run(lambda transitions: transitions.dissolve(space, key, reason))
    if dissolved is None:
        return inspect(space, key)
    group, names = dissolved
    for name in names:
        lease_changed.send_robust(sender=None, space=space, name=name)
    return _alive(group)


def _alive(group: Group) -> Alive:
    return Alive(
        id=group.id,
        key=group.key,
        charged_to=group.charged_to,
        ttl=length(group.ttl_ms),
        began_at=group.began_at,
        expires_at=group.expires_at,
        remaining=length(group.expires_at - group.now),
    )
