"""When to try again, when to give up, when to switch an endpoint off. Pure: clock and chance are passed in."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta
from email.utils import parsedate_to_datetime
from enum import StrEnum

# After the first attempt, which is made at once. With jitter a day and a half to two days in all.
DELAYS = (
    timedelta(seconds=5),
    timedelta(seconds=30),
    timedelta(minutes=2),
    timedelta(minutes=10),
    timedelta(hours=1),
    timedelta(hours=4),
    timedelta(hours=12),
    timedelta(hours=24),
)
ATTEMPTS = 1 + len(DELAYS)
# Deliveries that failed together do not come again together.
JITTER = 0.2
RETRY_AFTER_MAX = timedelta(hours=24)
RETRY_AFTER_STATUSES = frozenset({429, 503})
GONE = 410
FAILING_MAX = timedelta(days=5)


class DisableReason(StrEnum):
    """Why an endpoint was switched off."""

    GONE = "gone"
    FAILING = "failing"


@dataclass(frozen=True, slots=True)
class Done:
    """The receiver took it."""


@dataclass(frozen=True, slots=True)
class Next:
    """Try again, not before `at`."""

    at: datetime


@dataclass(frozen=True, slots=True)
class GiveUp:
    """The last of the attempts failed."""


@dataclass(frozen=True, slots=True)
class Disable:
    """The receiver said that it is gone: switch the endpoint off, and with it this delivery."""

    reason: DisableReason


Step = Done | Next | GiveUp | Disable


def after_attempt(
    made: int,
    *,
    status: int | None,
    now: datetime,
    random: Callable[[], float],
    retry_after: str | None = None,
) -> Step:
    """What follows the attempt numbered `made` (the first is 1).

    `status` is the HTTP status, None where none came; `retry_after` the header as it was sent;
    `now` the aware instant of the attempt's end; `random` gives numbers in [0, 1).
    """
    if status is not None and 200 <= status < 300:
        return Done()
    if status == GONE:
        return Disable(DisableReason.GONE)
    if made >= ATTEMPTS:
        return GiveUp()
    delay = DELAYS[made - 1]
    if status in RETRY_AFTER_STATUSES and retry_after is not None:
        delay = max(delay, parse_retry_after(retry_after, now) or delay)
    return Next(now + delay * (1 + JITTER * random()))


def parse_retry_after(text: str, now: datetime) -> timedelta | None:
    """How long from `now`, at most 24 h; None where the header is neither seconds nor an HTTP date."""
    text = text.strip()
    if text.isascii() and text.isdecimal():
        # As a float, which takes any number of digits.
        return timedelta(seconds=min(float(text), RETRY_AFTER_MAX.total_seconds()))
    try:
        date = parsedate_to_datetime(text)
    except (ValueError, OverflowError):
        return None
    date = date.replace(tzinfo=UTC) if date.tzinfo is None else date
    return min(max(date - now, timedelta()), RETRY_AFTER_MAX)


def is_off_due(failing_since: datetime | None, now: datetime) -> bool:
    """Whether an endpoint whose attempts all failed since `failing_since` has had its five days.

    `failing_since` is the end of the first failed attempt after its last success, None while it
    works. An endpoint to which nothing was sent does not fail.
    """
    return failing_since is not None and now - failing_since >= FAILING_MAX
