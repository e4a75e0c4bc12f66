"""Walking the live leases, and the groups, of a space in the order of their names' bytes."""

from __future__ import annotations

from collections.abc import Sequence
from datetime import timedelta

from django.db.models import QuerySet

from octostore.leases import storage
from octostore.leases.models import Lease, LeaseGroup
from octostore.leases.outcomes import Alive, Held
from octostore.leases.readings import state
from octostore.leases.rows import Row

# Above every character that a name may have: the end of all names with one beginning.
_LAST = "\U0010ffff"


def live(space: str, *, prefix: str, after: str, limit: int) -> list[tuple[str, Held]]:
    """The next `limit` live leases whose name begins with `prefix` and comes after `after`.

    A lease that lasts through a walk is met exactly once, however the others change.
    """
    now = _now()
    rows = _live(space, prefix, now).filter(name__gt=after).order_by("name").values_list("name", *Row._fields[:-1])
    found = storage.run(lambda _: list(rows[:limit]))
    states = [(name, state(Row._make((*columns, now)))) for name, *columns in found]
    return [(name, held) for name, held in states if isinstance(held, Held)]


def count(space: str, *, prefix: str) -> int:
    """How many leases of the space whose name begins with `prefix` are live."""
    now = _now()
    counted: int = storage.run(lambda _: _live(space, prefix, now).count())
    return counted


def groups(space: str, *, after: int, limit: int) -> list[Alive]:
    """The next `limit` live groups of the space, in the order in which they began."""
    now = _now()
    rows = LeaseGroup.objects.filter(space=space, id__gt=after, ended_at=None, expires_at__gt=now).order_by("id")
    return [_alive(group, now) for group in storage.run(lambda _: list(rows[:limit]))]


def count_groups(space: str) -> int:
    """How many groups of the space live."""
    now = _now()
    counted: int = storage.run(
        lambda _: LeaseGroup.objects.filter(space=space, ended_at=None, expires_at__gt=now).count()
    )
    return counted


def count_held(keys: Sequence[str]) -> dict[str, int]:
    """How many live leases each of these groups holds."""
    now = _now()
    rows = Lease.objects.filter(group_id__in=list(keys), ended_at=None, expires_at__gt=now).values_list("group_id")
    counts = dict.fromkeys(keys, 0)
    for (key,) in storage.run(lambda _: list(rows)):
        counts[key] += 1
    return counts


def _live(space: str, prefix: str, now: int) -> QuerySet[Lease]:
    return Lease.objects.filter(
        space=space, name__gte=prefix, name__lt=prefix + _LAST, ended_at=None, expires_at__gt=now
    )


def _now() -> int:
    now: int = storage.run(lambda transitions: transitions.now())
    return now


def _alive(group: LeaseGroup, now: int) -> Alive:
    return Alive(
        id=group.pk,
        key=group.key,
        charged_to=group.charged_to,
        ttl=timedelta(milliseconds=group.ttl_ms),
        began_at=group.began_at,
        expires_at=group.expires_at,
        remaining=timedelta(milliseconds=group.expires_at - now),
    )
