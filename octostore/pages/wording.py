"""Lengths and instants in words; the script of the pages uses the same ones."""

from __future__ import annotations

from datetime import UTC, datetime

_UNITS = (("d", 86_400), ("h", 3600), ("min", 60), ("s", 1))


def span(seconds: float) -> str:
    """A length as its two largest units: `18 s`, `2 min 40 s`, `1 d 3 h`."""
    whole = max(0, int(seconds))
    for (unit, size), smaller in zip(_UNITS, (*_UNITS[1:], None), strict=True):
        if whole >= size:
            rest = (whole % size) // smaller[1] if smaller else 0
            return f"{whole // size} {unit}" + (f" {rest} {smaller[0]}" if smaller and rest else "")
    return "0 s"


def age(seconds: float) -> str:
    """How long ago, or in how long; to the minute once a minute has passed."""
    if seconds < -1:
        return f"in {span(-seconds)}"
    if seconds < 2:
        return "just now"
    return f"{span(seconds if seconds < 60 else seconds - seconds % 60)} ago"


def counted(count: int, one: str) -> str:
    """So many of what one is called: `1 term`, `3 terms`."""
    return f"{count} {one}" if count == 1 else f"{count} {one}s"


def utc(at: int) -> str:
    """An instant, in milliseconds since 1970, to the second."""
    return f"{_datetime(at):%Y-%m-%d %H:%M:%S} UTC"


def utc_exactly(at: int) -> str:
    """An instant, in milliseconds since 1970, with its milliseconds."""
    return f"{_datetime(at):%Y-%m-%d %H:%M:%S}.{at % 1000:03} UTC"


def iso(at: int) -> str:
    """An instant, in milliseconds since 1970, as HTML's `datetime` wants it."""
    return f"{_datetime(at):%Y-%m-%dT%H:%M:%S}.{at % 1000:03}Z"


def _datetime(at: int) -> datetime:
    return datetime.fromtimestamp(at // 1000, UTC)
