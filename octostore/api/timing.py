"""Instants and lengths as the contract writes them."""

from __future__ import annotations

import random
from datetime import UTC, datetime, timedelta

from django.conf import settings

JITTER_MIN, JITTER_MAX = timedelta(seconds=1), timedelta(seconds=5)

# Deadline and "now" are whole milliseconds, and each can be off by less than one: nobody is told of
# an instant at which somebody else can already hold.
GRAIN_MS = 2


def instant(at: int) -> str:
    """RFC 3339 in UTC with milliseconds, from milliseconds since 1970."""
    moment = datetime.fromtimestamp(at // 1000, UTC).replace(microsecond=at % 1000 * 1000)
    return moment.isoformat(timespec="milliseconds").replace("+00:00", "Z")


def milliseconds(length: timedelta) -> int:
    return length // timedelta(milliseconds=1)


def safe_for_ms(remaining: timedelta, *, waited: timedelta = timedelta(0)) -> int:
    """How long a holder may act, counted from its sending of the request.

    It sent before the database looked at its clock, so what was left then it may count from there;
    and the time it `waited` before the winning try it may add.
    """
    return max(milliseconds(waited + remaining) - GRAIN_MS, 0)


def retry_after_ms(remaining: timedelta, ttl: timedelta) -> int:
    """The rest of a lease and a jitter of up to a fifth of its TTL (1 to 5 s), never over the cap.

    So those who lost neither come back in one instant nor sleep through a release. Where the rest
    reaches the cap, the jitter lies below it.
    """
    cap = timedelta(seconds=settings.RETRY_AFTER_MAX_SECONDS)
    jitter = min(max(ttl / 5, JITTER_MIN), JITTER_MAX, cap / 2)
    return milliseconds(min(remaining, cap - jitter) + random.random() * jitter)
