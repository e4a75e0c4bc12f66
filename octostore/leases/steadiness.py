"""How steadily a name is held, told from its past terms: how many, how long, with which gaps.

Instants and lengths are milliseconds.
"""

from __future__ import annotations

import statistics
from collections.abc import Sequence
from dataclasses import dataclass

from octostore.leases.outcomes import Past

WHILE_MS = 5 * 60_000
HOUR_MS = 3_600_000
DAY_MS = 24 * HOUR_MS
# Flapping: so many new terms within a while; over once a while has fewer than two.
FLAPS, CALM = 4, 2


@dataclass(frozen=True, slots=True, kw_only=True)
class Steadiness:
    """The last day of a name, or as much of it as its kept terms reach back to."""

    terms_in_hour: int
    terms_in_day: int
    # Whether terms older than those that are kept would count too.
    is_cut: bool
    # Of the terms that have ended; None where none has.
    median_ms: int | None
    # From 0 to 1, since the first of these terms began; None before there was one.
    vacant_share: float | None
    longest_gap_ms: int
    is_flapping: bool
    # Of the latest while: new terms, different holders, and the longest term among them.
    latest_terms: int
    latest_holders: int
    latest_longest_ms: int

    @property
    def median_seconds(self) -> float | None:
        return None if self.median_ms is None else self.median_ms / 1000

    @property
    def longest_gap_seconds(self) -> float:
        return self.longest_gap_ms / 1000

    @property
    def vacant_percent(self) -> int | None:
        return None if self.vacant_share is None else round(100 * self.vacant_share)


def steadiness(past: Sequence[Past], now: int, *, kept: int) -> Steadiness:
    """Of terms newest first, of which at most `kept` are remembered."""
    day = [term for term in past if _end(term, now) > now - DAY_MS]
    latest = [term for term in past if term.began_at > now - WHILE_MS]
    lengths = [term.ended_at - term.began_at for term in day if term.ended_at is not None]
    gaps = _gaps(day, now)
    since = now - max(day[-1].began_at, now - DAY_MS) if day else 0
    return Steadiness(
        terms_in_hour=sum(term.began_at > now - HOUR_MS for term in past),
        terms_in_day=sum(term.began_at > now - DAY_MS for term in past),
        is_cut=len(past) >= kept and len(day) == len(past),
        median_ms=round(statistics.median(lengths)) if lengths else None,
        vacant_share=min(1.0, sum(gaps) / since) if since else None,
        longest_gap_ms=max(gaps, default=0),
        is_flapping=is_flapping([term.began_at for term in past], now),
        latest_terms=len(latest),
        latest_holders=len({term.holder for term in latest}),
        latest_longest_ms=max((_end(term, now) - term.began_at for term in latest), default=0),
    )


def is_flapping(began_at: Sequence[int], now: int) -> bool:
    """Whether a name changes hands too often, by the beginnings of its terms, newest first."""
    flaps = False
    begun = [*reversed(began_at)]
    for n, instant in enumerate(begun):
        # The calmest moment since the term before is the one just before this term.
        before = sum(one > instant - WHILE_MS for one in begun[:n])
        flaps = (flaps and before >= CALM) or before + 1 >= FLAPS
    return flaps and sum(one > now - WHILE_MS for one in begun) >= CALM


def _gaps(day: Sequence[Past], now: int) -> list[int]:
    """The lengths of the times when nobody held the name, between these terms and after the last one."""
    if not day:
        return []
    ends = [max(_end(term, now), now - DAY_MS) for term in day]
    begins = [now, *(term.began_at for term in day[:-1])]
    return [max(0, begin - end) for begin, end in zip(begins, ends, strict=True)]


def _end(term: Past, now: int) -> int:
    return now if term.ended_at is None else term.ended_at
