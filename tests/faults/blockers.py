"""Transactions of somebody else that hold a lease's row, in the three ways that are told apart.

READ COMMITTED looks at a row again only when the blocker changed it, so one that merely locked
the row, or took its change back, is the harder case (guarantees, G4).
"""

from __future__ import annotations

import sqlite3
import time
from collections.abc import Callable, Iterator
from contextlib import closing, contextmanager

import psycopg
from django.db import connection

from tests.history import Blockade, History
from tests.players import SPACE, now_ms

KINDS = ("lock-only", "rolled-back", "updating")

_CHANGE = "UPDATE leases_lease SET charged_to = 'somebody' WHERE space = %s AND name = %s"


@contextmanager
def blocked(history: History, name: str, kind: str) -> Iterator[None]:
    """Hold the row of `name` through the block, and write down from when to when it was held."""
    with _other_transaction() as execute:
        if kind != "lock-only":
            execute(_CHANGE, (SPACE, name))
        elif connection.vendor == "postgresql":
            execute("SELECT 1 FROM leases_lease WHERE space = %s AND name = %s FOR UPDATE", (SPACE, name))
        since, since_ms = time.monotonic(), now_ms()
        yield
        until, until_ms = time.monotonic(), now_ms()
        execute("ROLLBACK" if kind == "rolled-back" else "COMMIT", ())
    history.blockades.append(Blockade(name=name, since=since, until=until, since_ms=since_ms, until_ms=until_ms))


@contextmanager
def standstill() -> Iterator[None]:
    """Let nobody else write to any lease; reads go on."""
    with _other_transaction() as execute:
        if connection.vendor == "postgresql":
            execute("LOCK TABLE leases_lease IN EXCLUSIVE MODE", ())
        yield
        execute("ROLLBACK", ())


@contextmanager
def _other_transaction() -> Iterator[Callable[[str, tuple[str, ...]], object]]:
    """A transaction on a connection of its own: on SQLite it holds the file's write lock from the start."""
    if connection.vendor == "postgresql":
        with psycopg.connect(**connection.get_connection_params()) as outside:
            yield outside.execute
    else:
        with closing(sqlite3.connect(connection.settings_dict["NAME"], isolation_level=None)) as outside:
            outside.execute("BEGIN IMMEDIATE")
            yield lambda statement, parameters: outside.execute(statement.replace("%s", "?"), parameters)
