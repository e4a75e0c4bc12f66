"""What a measurement was made on."""

from __future__ import annotations

import os
import platform
import sqlite3
import statistics
import tempfile
import time
from pathlib import Path


def describe() -> str:
    """Processor, cores, memory, system and versions, in one line."""
    memory = os.sysconf("SC_PAGE_SIZE") * os.sysconf("SC_PHYS_PAGES") / 2**30
    return (
        f"{_processor()}, {len(os.sched_getaffinity(0))} cores, {memory:.0f} GiB, {platform.system()}; "
        f"Python {platform.python_version()}, SQLite {sqlite3.sqlite_version}"
    )


def _processor() -> str:
    for line in Path("/proc/cpuinfo").read_text().splitlines():
        if line.startswith("model name"):
            return line.partition(":")[2].strip()
    return platform.machine()


def fsync_ms(directory: Path) -> float:
    """What making 4 KiB durable in `directory` takes, the middle of 100 tries: a write cannot cost less."""
    taken = []
    with tempfile.TemporaryFile(dir=directory) as file:
        for _ in range(100):
            file.write(b"x" * 4096)
            file.flush()
            began = time.perf_counter()
            os.fsync(file.fileno())
            taken.append(time.perf_counter() - began)
    return statistics.median(taken) * 1000
