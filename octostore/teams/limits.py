"""How much a team may have at once: the service's limits, or what staff gave the team instead."""

from __future__ import annotations

import time

import msgspec
from django.conf import settings

from octostore.teams.models import Quota
from octostore.teams.writing import reading

FRESH_SECONDS = 1.0
TEAMS_MAX = 10_000


class Limits(msgspec.Struct, frozen=True, kw_only=True):
    """At most this many at once; streams and waits in each process, the others in all."""

    locks: int
    sessions: int
    streams: int
    waits: int


NAMES: tuple[str, ...] = Limits.__struct_fields__

# When each team's limits were read, on the monotonic clock.
_known: dict[int, tuple[float, Limits]] = {}


def of(team_id: int) -> Limits:
    """The team's limits, as known up to a second ago."""
    now = time.monotonic()
    read_at, limits = _known.get(team_id, (0.0, None))
    if limits is None or now - read_at >= FRESH_SECONDS:
        if len(_known) >= TEAMS_MAX:
            _known.clear()
        limits = _read(team_id)
        _known[team_id] = (now, limits)
    return limits


def locks_max(team_id: int) -> int:
    return of(team_id).locks


def sessions_max(team_id: int) -> int:
    return of(team_id).sessions


def streams_max(team_id: int) -> int:
    return of(team_id).streams


def waits_max(team_id: int) -> int:
    return of(team_id).waits


def forget(team_id: int) -> None:
    """Read the team's limits anew when next asked for."""
    _known.pop(team_id, None)


def defaults() -> Limits:
    return Limits(
        locks=settings.TEAM_LOCKS_MAX,
        sessions=settings.TEAM_SESSIONS_MAX,
        streams=settings.TEAM_STREAMS_MAX,
        waits=settings.TEAM_WAITS_MAX,
    )


def _read(team_id: int) -> Limits:
    own = reading(lambda: Quota.objects.filter(team_id=team_id).values(*NAMES).first()) or {}
    return msgspec.structs.replace(defaults(), **{name: value for name, value in own.items() if value is not None})
