"""Time that passes without waiting: what the tables tell moves into the past instead."""

from __future__ import annotations

from datetime import timedelta

from django.db.models import F
from django.db.models.expressions import CombinedExpression

from octostore.leases.models import Lease, LeaseEvent, LeaseGroup
from tests.leases.acts import GROUP, NAME, SPACE
from tests.players import now_ms

_INSTANTS = ("began_at", "expires_at", "own_expires_at", "ended_at", "available_at")
_OF_A_GROUP = ("began_at", "expires_at", "ended_at")


def milliseconds(length: timedelta) -> int:
    return length // timedelta(milliseconds=1)


def age(by: timedelta, name: str = NAME) -> None:
    """As if the last term of `name` had begun, been renewed and ended `by` earlier."""
    back = milliseconds(by)
    Lease.objects.filter(space=SPACE, name=name).update(**_shifted(_INSTANTS, back))


def expire(name: str = NAME, *, ago: timedelta = timedelta(milliseconds=1)) -> None:
    """Let the live term of `name` have run out `ago`, without anybody having marked it."""
    lease = Lease.objects.get(space=SPACE, name=name)
    age(timedelta(milliseconds=lease.expires_at - now_ms()) + ago, name)


def age_group(by: timedelta, key: str = GROUP) -> None:
    """As if the group had begun, been kept and ended `by` earlier, and so the terms it has."""
    back = milliseconds(by)
    LeaseGroup.objects.filter(key=key).update(**_shifted(_OF_A_GROUP, back))
    Lease.objects.filter(group_id=key).update(**_shifted(_INSTANTS, back))


def expire_group(key: str = GROUP, *, ago: timedelta = timedelta(milliseconds=1)) -> None:
    """Let the live group have run out `ago`, without anybody having marked it."""
    group = LeaseGroup.objects.get(key=key)
    age_group(timedelta(milliseconds=group.expires_at - now_ms()) + ago, key)


def pass_time(by: timedelta) -> None:
    """As if all that happened to every name had happened `by` earlier, the numbers of its terms included."""
    back = milliseconds(by)
    Lease.objects.update(**_shifted(_INSTANTS, back))
    Lease.objects.filter(term__gt=0).update(**_shifted(("term", "incarnation"), back))
    LeaseGroup.objects.update(**_shifted(_OF_A_GROUP, back))
    LeaseEvent.objects.update(**_shifted(("at", "expires_at", "term", "incarnation"), back))


def _shifted(columns: tuple[str, ...], back: int) -> dict[str, CombinedExpression]:
    return {column: F(column) - back for column in columns}
