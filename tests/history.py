"""What clients did and were told, and what the database recorded: the material of `tests.invariants`.

Instants of operations are seconds on one monotonic clock, those of events milliseconds of the
database's.
"""

from __future__ import annotations

import hashlib
import threading
from dataclasses import dataclass, field
from typing import Literal


@dataclass(frozen=True, slots=True, kw_only=True)
class Operation:
    """One call. `term` is the term granted, kept, ended or seen; None where none was (vacant).

    `write` is a write to a resource that stores the highest term; `overrun` is the test's own
    doing: after it the deadline of `term` has passed.
    """

    verb: Literal["campaign", "renew", "resign", "status", "write", "overrun"]
    name: str
    client: str
    called: float
    returned: float
    # ok: done. lost: another one leads. refused: changed nothing. unknown: nobody can tell.
    outcome: Literal["ok", "lost", "refused", "unknown"]
    term: int | None = None
    # Digest of the capability granted or presented, and of the Idempotency-Key.
    capability: str | None = None
    attempt: str | None = None
    ttl: float = 0.0
    # How long from `called` the client may believe; seconds.
    safe_for: float = 0.0

    def __str__(self) -> str:
        span = f"{self.called:.4f}..{self.returned:.4f}"
        return f"{self.client} {self.verb} {self.name} {self.outcome} term {self.term} at {span}"


@dataclass(frozen=True, slots=True, kw_only=True)
class Event:
    """One committed event row; `at` and `expires_at` in milliseconds of the database's clock."""

    name: str
    incarnation: int
    n: int
    kind: str
    term: int
    at: int
    expires_at: int


@dataclass(frozen=True, slots=True, kw_only=True)
class Blockade:
    """While it lasted the name's row was locked from outside, so that nothing took effect on it.

    By the monotonic clock, and in milliseconds of the database's.
    """

    name: str
    since: float
    until: float
    since_ms: int
    until_ms: int


@dataclass
class History:
    """Operations of many clients, recorded from many threads, and the events they left behind."""

    operations: list[Operation] = field(default_factory=list)
    events: list[Event] = field(default_factory=list)
    blockades: list[Blockade] = field(default_factory=list)
    _lock: threading.Lock = field(default_factory=threading.Lock)

    def record(self, operation: Operation) -> None:
        with self._lock:
            self.operations.append(operation)

    def count(self, verb: str, outcome: str) -> int:
        return sum((operation.verb, operation.outcome) == (verb, outcome) for operation in self.operations)


def digest(secret: str | None) -> str | None:
    """A secret as histories keep it."""
    return None if secret is None else hashlib.sha256(secret.encode()).hexdigest()[:16]
