"""Write transactions on SQLite: one at a time in each process, in order, each with its instant.

SQLite's busy handler is unfair: many connections that write on their own starve each other for
seconds. Threads therefore queue here first come, first served, and only processes meet at the file.
"""

from __future__ import annotations

import os
import threading
from collections import deque
from collections.abc import Iterator
from contextlib import contextmanager

from django.db import OperationalError, connection, transaction
from django.db.backends.utils import CursorWrapper

from octostore.leases import clock
from octostore.leases.clock import Mark

READ_CLOCK = "SELECT mark, boottime, boot_id FROM leases_clock WHERE id = 1"
WRITE_CLOCK = """INSERT INTO leases_clock (id, mark, boottime, boot_id) VALUES (1, %s, %s, %s)
ON CONFLICT (id) DO UPDATE SET mark = excluded.mark, boottime = excluded.boottime, boot_id = excluded.boot_id"""


class Queue:
    """A lock whose waiters are served in the order in which they came."""

    def __init__(self) -> None:
        self._guard = threading.Lock()
        self._waiting: deque[threading.Event] = deque()
        self._busy = False

    @contextmanager
    def turn(self, seconds: float) -> Iterator[None]:
        """Wait at most `seconds`; raises OperationalError when the turn did not come."""
        mine = threading.Event()
        with self._guard:
            if self._busy:
                self._waiting.append(mine)
            else:
                self._busy = True
                mine.set()
        if not mine.wait(seconds):
            with self._guard:
                if not mine.is_set():
                    self._waiting.remove(mine)
                    raise OperationalError("the queue of writers did not move within the bounded wait")
        try:
            yield
        finally:
            with self._guard:
                if self._waiting:
                    self._waiting.popleft().set()
                else:
                    self._busy = False


_queue = Queue()


def _forked() -> None:
    global _queue
    _queue = Queue()


os.register_at_fork(after_in_child=_forked)


@contextmanager
def writing(seconds: float) -> Iterator[tuple[CursorWrapper, int]]:
    """One IMMEDIATE transaction: its cursor, and `now` read after the lock was had.

    The clock's row is written along, so that whatever this transaction did stays in the past for
    every later one, whichever way the wall clock steps.
    """
    with _queue.turn(seconds), transaction.atomic(durable=True), connection.cursor() as cursor:
        cursor.execute(READ_CLOCK)
        mark = Mark(*cursor.fetchone() or (0, 0, ""))
        reading = clock.read()
        now = mark.now(reading)
        cursor.execute(WRITE_CLOCK, (now, reading.boottime, reading.boot_id))
        yield cursor, now
