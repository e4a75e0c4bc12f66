"""SQLite's "now": the wall clock, kept from ever running backwards.

`now = max(wall clock, mark + elapsed CLOCK_BOOTTIME)`, with mark, boot time and boot id kept in
the database by the write transactions themselves, so that a step back neither revives nor
stretches a lease and all processes agree (guarantees, G3). PostgreSQL needs none of this: its
`clock_timestamp()` is the clock, and no web server's clock is ever asked.
"""

from __future__ import annotations

import time
from dataclasses import dataclass
from functools import cache
from pathlib import Path

# Whole milliseconds of 2026-01-01T00:00:00Z since 1970: where the floor of terms begins (G2).
EPOCH = 1_767_225_600_000

_BOOTTIME = getattr(time, "CLOCK_BOOTTIME", time.CLOCK_MONOTONIC)


@dataclass(frozen=True, slots=True)
class Reading:
    """This machine's clocks, read at one time; instants in milliseconds."""

    wall: int
    boottime: int
    boot_id: str


@dataclass(frozen=True, slots=True)
class Mark:
    """What the clock row says; all lengths and instants in milliseconds."""

    mark: int
    boottime: int
    boot_id: str

    def now(self, reading: Reading | None = None) -> int:
        """The instant of a reading (None: of one taken now), in milliseconds since 1970; never before the mark."""
        reading = reading or read()
        elapsed = reading.boottime - self.boottime if reading.boot_id == self.boot_id else 0
        return max(reading.wall, self.mark + max(elapsed, 0))


def read() -> Reading:
    """Both clocks now, the wall clock first: a pause between them never looks like a step forward."""
    wall = time.time_ns() // 1_000_000
    return Reading(wall=wall, boottime=boottime(), boot_id=boot_id())


def boottime() -> int:
    """Milliseconds since this machine booted, suspension included."""
    return time.clock_gettime_ns(_BOOTTIME) // 1_000_000


@cache
def boot_id() -> str:
    """Which boot of which machine this is; a constant where the kernel does not say."""
    path = Path("/proc/sys/kernel/random/boot_id")
    return path.read_text(encoding="ascii").strip() if path.exists() else "unknown boot"
