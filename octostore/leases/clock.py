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
class Mark:
    """What the clock row says; all lengths and instants in milliseconds."""

    mark: int
    boottime: int
    boot_id: str

    def now(self) -> int:
        """The present instant in milliseconds since 1970, never before the mark."""
        elapsed = boottime() - self.boottime if self.boot_id == boot_id() else 0
        return max(time.time_ns() // 1_000_000, self.mark + max(elapsed, 0))


def boottime() -> int:
    """Milliseconds since this machine booted, suspension included."""
    return time.clock_gettime_ns(_BOOTTIME) // 1_000_000


@cache
def boot_id() -> str:
    """Which boot of which machine this is; a constant where the kernel does not say."""
    path = Path("/proc/sys/kernel/random/boot_id")
    return path.read_text(encoding="ascii").strip() if path.exists() else "unknown boot"
