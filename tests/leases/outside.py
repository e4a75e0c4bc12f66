"""Somebody else's transaction, on a connection of its own, that stands in the way of the engine."""

from __future__ import annotations

import sqlite3
import time
from collections.abc import Callable, Iterator
from contextlib import AbstractContextManager, closing, contextmanager
from typing import Any

import psycopg
from django.db import connection

from tests.leases.acts import GROUP, NAME, SPACE

Execute = Callable[[str, tuple[Any, ...]], Any]

WAIT_SECONDS = 10

WAITING_FOR_A_LOCK = "SELECT pid FROM pg_stat_activity WHERE datname = current_database() AND wait_event_type = 'Lock'"


@contextmanager
def outside() -> Iterator[Execute]:
    """Runs statements outside the engine's connection, each at once; on SQLite `%s` is spelt `?`."""
    if connection.vendor == "postgresql":
        with psycopg.connect(**connection.get_connection_params(), autocommit=True) as other:
            yield lambda statement, parameters: other.execute(statement.encode(), parameters)
    else:
        with closing(sqlite3.connect(connection.settings_dict["NAME"], isolation_level=None)) as another:
            yield lambda statement, parameters: another.execute(statement.replace("%s", "?"), parameters)


def locked_row(name: str = NAME, kind: str = "lock-only") -> AbstractContextManager[None]:
    """Hold the name's row through the block: `lock-only`, changed and `rolled-back`, or changed and kept (`updating`).

    On SQLite, whose only lock is the file's, that is held.
    """
    return _locked("leases_lease", "space = %s AND name = %s", (SPACE, name), kind)


def locked_group(key: str = GROUP, kind: str = "lock-only") -> AbstractContextManager[None]:
    """The same for a group's row."""
    return _locked("leases_leasegroup", "space = %s AND key = %s", (SPACE, key), kind)


@contextmanager
def _locked(table: str, where: str, which: tuple[str, str], kind: str) -> Iterator[None]:
    with outside() as execute:
        execute("BEGIN IMMEDIATE" if connection.vendor == "sqlite" else "BEGIN", ())
        if kind != "lock-only":
            execute(f"UPDATE {table} SET charged_to = 'somebody' WHERE {where}", which)
        elif connection.vendor == "postgresql":
            execute(f"SELECT 1 FROM {table} WHERE {where} FOR UPDATE", which)
        try:
            yield
        finally:
            execute("ROLLBACK" if kind == "rolled-back" else "COMMIT", ())


def waiting_backends(count: int = 1) -> list[int]:
    """PostgreSQL's process ids of `count` backends that wait for a lock in this database, once there are so many."""
    deadline = time.monotonic() + WAIT_SECONDS
    with outside() as execute:
        while True:
            rows = execute(WAITING_FOR_A_LOCK, ()).fetchall()
            if len(rows) >= count:
                return [pid for (pid,) in rows]
            assert time.monotonic() < deadline, f"{len(rows)} of {count} backends wait"
            time.sleep(0.005)
