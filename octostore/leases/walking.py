"""Walking the live leases, and the groups, of a space in the order of their names' bytes."""

from __future__ import annotations

from collections.abc import Sequence
from datetime import timedelta
from typing import Any

from django.db.models import Count, QuerySet

from octostore.leases import storage
from octostore.leases.models import Lease, LeaseGroup
from octostore.leases.outcomes import Alive, Held
from octostore.leases.readings import state
from octostore.leases.rows import Row

# Above every character that a name may have: the end of all names with one beginning.
_LAST = "\U0010ffff"


def live(space: str, *, prefix: str, after: str, limit: int) -> tuple[list[tuple[str, Held]], int]:
    """The next `limit` live leases whose name begins with `prefix` and comes after `after`, and how many there are.

    A lease that lasts through a walk is met exactly once, however the others change.
    """
    now = _now()
    found = Lease.objects.filter(
        space=space, name__gte=prefix, name__lt=prefix + _LAST, ended_at=None, expires_at__gt=now
    )
    page = found.filter(name__gt=after).order_by("name").values_list("name", *Row._fields[:-1])
    states = [(name, state(Row._make((*columns, now)))) for name, *columns in _rows(page[:limit])]
    return [(name, held) for name, held in states if isinstance(held, Held)], _number(found)


def groups(space: str, *, after: int, limit: int) -> list[tuple[Alive, int]]:
    """The next `limit` live groups of the space in the order in which they began, and how many leases each holds."""
    now = _now()
    found = _live_groups(space, now).filter(id__gt=after).order_by("id")
    alive = [_alive(group, now) for group in storage.read(found[:limit])]
    counts = _count_held([group.key for group in alive], now)
    return [(group, counts[group.key]) for group in alive]


def count_groups(space: str) -> int:
    """How many groups of the space live."""
    return _number(_live_groups(space, _now()))


def count_held(key: str) -> int:
    """How many live leases the group holds."""
    return _count_held([key], _now())[key]


def _live_groups(space: str, now: int) -> QuerySet[LeaseGroup]:
    return LeaseGroup.objects.filter(space=space, ended_at=None, expires_at__gt=now)


def _count_held(keys: Sequence[str], now: int) -> dict[str, int]:
    held = Lease.objects.filter(group_id__in=keys, ended_at=None, expires_at__gt=now).order_by()
    return dict.fromkeys(keys, 0) | dict(_rows(held.values_list("group_id").annotate(Count("id"))))


def _number(query: QuerySet[Any]) -> int:
    counted = _rows(query.order_by().values_list("space").annotate(Count("id")))
    return counted[0][1] if counted else 0


def _rows(query: QuerySet[Any, Any]) -> list[Any]:
    rows: list[Any] = storage.run(lambda transitions: transitions.evaluate(query.all()))
    return rows


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
