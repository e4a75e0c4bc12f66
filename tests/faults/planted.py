"""Faults to plant in the engine, each the mistake that somebody makes: the proof that tests have teeth.

They change the text of a statement, or the step that runs it; an edit that no longer finds its
place fails, so that a fault cannot quietly become harmless.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from types import ModuleType
from typing import Any

import pytest
from django.db import connection, transaction

from octostore.leases.postgresql import statements as postgresql
from octostore.leases.postgresql import transitions as postgresql_transitions
from octostore.leases.sqlite import statements as sqlite
from octostore.leases.sqlite import transitions as sqlite_transitions
from octostore.leases.sqlite.writing import writing
from tests.players import now_ms

Plant = Callable[[pytest.MonkeyPatch], None]


@dataclass(frozen=True, slots=True, kw_only=True)
class Fault:
    """A planted mistake, the database it belongs to and the invariants of which one must break."""

    plant: Plant
    vendor: str
    breaks: frozenset[str]


def _edit(module: ModuleType, name: str, *changes: tuple[str, str]) -> Plant:
    """Replace, in the statement `name`, every match of each pattern."""

    def plant(monkeypatch: pytest.MonkeyPatch) -> None:
        statement: str = getattr(module, name)
        for pattern, replacement in changes:
            statement, edits = re.subn(pattern, replacement, statement, flags=re.DOTALL)
            assert edits, f"{pattern!r} is not in {name}"
        monkeypatch.setattr(module, name, statement)

    return plant


def _together(*plants: Plant) -> Plant:
    def plant(monkeypatch: pytest.MonkeyPatch) -> None:
        for each in plants:
            each(monkeypatch)

    return plant


# Lock and clock trade places: the clock's CTE no longer hangs on the lock's, the lock's on the clock's.
_CLOCK_FIRST = (
    r"WITH l AS MATERIALIZED \(\s*SELECT (.*?) FROM leases_lease WHERE (.*?) FOR UPDATE\),\s*"
    r"t AS MATERIALIZED \(SELECT (.*?) AS now FROM l\)",
    r"WITH t AS MATERIALIZED (SELECT \3 AS now), l AS MATERIALIZED "
    r"(SELECT \1 FROM leases_lease CROSS JOIN t WHERE \2 FOR UPDATE OF leases_lease)",
)
_FROZEN_CLOCK = (r"clock_timestamp\(\)", "now()")


def _plain_renewal(monkeypatch: pytest.MonkeyPatch) -> None:
    """The classic: an UPDATE that judges the deadline in its own WHERE."""
    monkeypatch.setattr(
        postgresql,
        "RENEW",
        f"""UPDATE leases_lease lease SET
            expires_at = {postgresql.NOW} + coalesce(%(ttl_ms)s, ttl_ms), renewals = renewals + 1
        WHERE space = %(space)s AND name = %(name)s AND capability_digest = %(capability_digest)s
            AND ended_at IS NULL AND expires_at > {postgresql.NOW}
        RETURNING {postgresql.OF_LEASE}, {postgresql.NOW}""",
    )


def _sweep_by_id(transitions: ModuleType) -> Plant:
    """Select what is overdue, then mark it by id without looking again."""

    def sweep(batch: int) -> int:
        with connection.cursor() as cursor:
            cursor.execute(
                "SELECT id FROM leases_lease WHERE ended_at IS NULL AND expires_at <= %s LIMIT %s", [now_ms(), batch]
            )
            ids = [row[0] for row in cursor.fetchall()]
            for lease in ids:
                with transaction.atomic(durable=True):
                    cursor.execute(
                        "UPDATE leases_lease SET ended_at = expires_at, ending = 'expired' WHERE id = %s", [lease]
                    )
        return len(ids)

    return lambda monkeypatch: monkeypatch.setattr(transitions, "sweep", sweep)


def _sqlite_clock_first(monkeypatch: pytest.MonkeyPatch) -> None:
    @contextmanager
    def clock_first() -> Iterator[tuple[Any, int]]:
        now = now_ms()
        with writing(5) as (cursor, _):
            yield cursor, now

    monkeypatch.setattr(sqlite_transitions, "_writing", clock_first)


FAULTS = {
    "renewal without expiry test, PostgreSQL": Fault(
        plant=_edit(postgresql, "RENEW", (r"AND l\.ended_at IS NULL AND l\.expires_at > t\.now", "")),
        vendor="postgresql",
        breaks=frozenset({"I4"}),
    ),
    "renewal by a plain update, PostgreSQL": Fault(plant=_plain_renewal, vendor="postgresql", breaks=frozenset({"I4"})),
    "release by name alone, PostgreSQL": Fault(
        plant=_edit(postgresql, "RELEASE", (r"AND (lease\.)?capability_digest = %\(capability_digest\)s", "")),
        vendor="postgresql",
        breaks=frozenset({"I3", "I4", "I5"}),
    ),
    "frozen clock in renewals, PostgreSQL": Fault(
        plant=_edit(postgresql, "RENEW", _FROZEN_CLOCK), vendor="postgresql", breaks=frozenset({"I4"})
    ),
    "frozen clock in grants, PostgreSQL": Fault(
        plant=_edit(postgresql, "TAKE", _FROZEN_CLOCK), vendor="postgresql", breaks=frozenset({"I1"})
    ),
    "clock before lock in renewals, PostgreSQL": Fault(
        plant=_edit(postgresql, "RENEW", _CLOCK_FIRST), vendor="postgresql", breaks=frozenset({"I4"})
    ),
    "clock before lock in grants, PostgreSQL": Fault(
        plant=_edit(postgresql, "TAKE", _CLOCK_FIRST), vendor="postgresql", breaks=frozenset({"I1"})
    ),
    "sweep by id, PostgreSQL": Fault(
        plant=_sweep_by_id(postgresql_transitions), vendor="postgresql", breaks=frozenset({"I1", "I3", "I5"})
    ),
    "grant to whoever asks, PostgreSQL": Fault(
        plant=_edit(postgresql, "TAKE", (r"AND \(l\.ended_at IS NOT NULL OR .*?(?=AND l\.nonce)", "")),
        vendor="postgresql",
        breaks=frozenset({"I1"}),
    ),
    "terms that may fall, PostgreSQL": Fault(
        plant=_edit(postgresql, "TAKE", (r"greatest\(l\.term \+ 1, t\.now - \d+\)", "t.now %% 1000 + 1")),
        vendor="postgresql",
        breaks=frozenset({"I1", "I2"}),
    ),
    "renewal without expiry test, SQLite": Fault(
        plant=_edit(sqlite, "RENEW", (r"AND ended_at IS NULL AND expires_at > %\(now\)s", "")),
        vendor="sqlite",
        breaks=frozenset({"I4"}),
    ),
    "release by name alone, SQLite": Fault(
        plant=_edit(sqlite, "RELEASE", (r"AND capability_digest = %\(capability_digest\)s", "")),
        vendor="sqlite",
        breaks=frozenset({"I3", "I4", "I5"}),
    ),
    "clock before lock, SQLite": Fault(plant=_sqlite_clock_first, vendor="sqlite", breaks=frozenset({"I1", "I4"})),
    "sweep by id, SQLite": Fault(
        plant=_sweep_by_id(sqlite_transitions), vendor="sqlite", breaks=frozenset({"I1", "I3", "I5"})
    ),
    "grant to whoever asks, SQLite": Fault(
        plant=_edit(sqlite, "TAKE", (r"AND ended_at IS NOT NULL.*?(?=AND nonce)", "")),
        vendor="sqlite",
        breaks=frozenset({"I1"}),
    ),
    "terms that may fall, SQLite": Fault(
        plant=_edit(sqlite, "TAKE", (r"max\(term \+ 1, %\(now\)s - \d+\)", "%(now)s %% 1000 + 1")),
        vendor="sqlite",
        breaks=frozenset({"I1", "I2"}),
    ),
}
