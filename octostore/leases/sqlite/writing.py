"""Write transactions on SQLite: one at a time in each process, in order, each with its instant."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager

from django.db import connection, transaction
from django.db.backends.utils import CursorWrapper

from octostore.leases import clock
from octostore.leases.clock import Mark
from octostore.lib import writers

READ_CLOCK = "SELECT mark, boottime, boot_id FROM leases_clock WHERE id = 1"
WRITE_CLOCK = """INSERT INTO leases_clock (id, mark, boottime, boot_id) VALUES (1, %s, %s, %s)
ON CONFLICT (id) DO UPDATE SET mark = excluded.mark, boottime = excluded.boottime, boot_id = excluded.boot_id"""


@contextmanager
def writing(seconds: float) -> Iterator[tuple[CursorWrapper, int]]:
    """One IMMEDIATE transaction: its cursor, and `now` read after the lock was had.

    The clock's row is written along, so that whatever this transaction did stays in the past for
    every later one, whichever way the wall clock steps.
    """
    with writers.turn(seconds), transaction.atomic(durable=True), connection.cursor() as cursor:
        cursor.execute(READ_CLOCK)
        mark = Mark(*cursor.fetchone() or (0, 0, ""))
        reading = clock.read()
        now = mark.now(reading)
        cursor.execute(WRITE_CLOCK, (now, reading.boottime, reading.boot_id))
        yield cursor, now
