"""Groups: holders of many leases that live as long as they say so. Sessions of locks are groups.

Whoever judges a group locks its row before any lease's. A lease that is bound to a group carries the
group's deadline in its own row, moved by every keepalive under that lock, so acquirers, readers and
the sweep judge a lease by its row alone.
"""

from __future__ import annotations

from datetime import timedelta

from octostore.leases import storage
from octostore.leases.models import Lease
from octostore.leases.outcomes import Alive, GroupOver, GroupUnknown
from octostore.leases.rows import Group
from octostore.leases.signals import lease_changed


def form(space: str, key: str, *, ttl: timedelta, charged_to: str = "") -> Alive:
    """Begin a group that lives for `ttl` from now, and from each keepalive."""
    ttl_ms = round(ttl.total_seconds() * 1000)
    return _alive(storage.run(lambda transitions: transitions.form(space, key, charged_to, ttl_ms)))


def inspect(space: str, key: str) -> Alive | GroupOver | GroupUnknown:
    """Whether the group lives; one past its deadline is ended by the asking, so that it stays so."""
    group = storage.run(lambda transitions: transitions.read_group(space, key))
    if group is None:
        return GroupUnknown()
    if group.ended_at is None and not group.is_live:
        # Under its lock: a keepalive may have been faster.
        storage.run(lambda transitions: transitions.dissolve(space, key, live=False))
        return inspect(space, key)
    return _alive(group) if group.ended_at is None else GroupOver(key=key, ended_at=group.ended_at)


def keep(space: str, key: str) -> Alive | GroupOver | GroupUnknown:
    """Let the group, and with it what is bound to it, live for its TTL from now."""
    kept = storage.run(lambda transitions: transitions.keep(space, key))
    return _alive(kept) if kept else inspect(space, key)


def dissolve(space: str, key: str) -> Alive | GroupOver | GroupUnknown:
    """End the group, and in the same instant what is bound to it; Alive tells of the group that was."""
    bound = Lease.objects.filter(group_id=key, bound=True, ended_at=None).values_list("name", flat=True)
    names: list[str] = storage.run(lambda _: list(bound))
    ended = storage.run(lambda transitions: transitions.dissolve(space, key, live=True))
    if ended is None or ended.ending != "released":
        return inspect(space, key)
    for name in names:
        lease_changed.send(sender=None, space=space, name=name)
    return _alive(ended)


def _alive(group: Group) -> Alive:
    return Alive(
        id=group.id,
        key=group.key,
        charged_to=group.charged_to,
        ttl=timedelta(milliseconds=group.ttl_ms),
        began_at=group.began_at,
        expires_at=group.expires_at,
        remaining=timedelta(milliseconds=group.expires_at - group.now),
    )
