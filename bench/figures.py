"""What a run comes to."""

from __future__ import annotations

import json
import subprocess
from collections.abc import Iterable
from dataclasses import asdict, dataclass
from typing import Self


@dataclass(frozen=True, slots=True, kw_only=True)
class Figures:
    rate: float  # units a second
    p50_ms: float
    p99_ms: float

    def to_json(self) -> str:
        return json.dumps(asdict(self))

    @classmethod
    def of(cls, command: list[str], environment: dict[str, str]) -> Self:
        """What a child process prints; SystemExit with what it said when it failed."""
        child = subprocess.run(command, env=environment, capture_output=True, text=True)
        if child.returncode:
            raise SystemExit(f"{' '.join(command)}: {child.stderr[-4000:]}")
        return cls(**json.loads(child.stdout))


def summarise(units: Iterable[tuple[float, float]], since: float, until: float) -> Figures:
    """Of units given as (began, ended), in seconds, those that ended within [since, until]."""
    lengths = sorted(ended - began for began, ended in units if since <= ended <= until)
    if not lengths:
        raise SystemExit("not one unit was done within the time")
    return Figures(
        rate=len(lengths) / (until - since),
        p50_ms=lengths[len(lengths) // 2] * 1000,
        p99_ms=lengths[len(lengths) * 99 // 100] * 1000,
    )
