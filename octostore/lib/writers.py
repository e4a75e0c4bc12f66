"""Writers on SQLite: one at a time in each process, in order.

SQLite's busy handler is unfair: many connections that write on their own starve each other for
seconds. Threads therefore queue here first come, first served, and only processes meet at the file.
"""

from __future__ import annotations

import os
import threading
import time
from collections import deque
from collections.abc import Iterator
from contextlib import AbstractContextManager, contextmanager

from django.db import OperationalError

# So long at most the file is left to other processes after a turn that is not urgent.
REST_SECONDS_MAX = 0.05


class Queue:
    """A lock whose waiters are served in the order in which they came."""

    def __init__(self) -> None:
        self._guard = threading.Lock()
        self._waiting: deque[threading.Event] = deque()
        self._busy = False

    @contextmanager
    def turn(self, seconds: float, *, rests: bool = False) -> Iterator[None]:
        """Wait at most `seconds`; raises OperationalError when the turn did not come.

        One that `rests` lets as much time pass as it took before the next of this process begins.
        """
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
        began_at = time.monotonic()
        try:
            yield
        finally:
            if rests:
                time.sleep(min(time.monotonic() - began_at, REST_SECONDS_MAX))
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


def turn(seconds: float, *, rests: bool = False) -> AbstractContextManager[None]:
    """This process's turn to write: waits at most `seconds`, else raises OperationalError. Not reentrant.

    What is not urgent `rests` after it, so that other processes find the file free half of the time.
    """
    return _queue.turn(seconds, rests=rests)
