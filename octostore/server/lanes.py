"""Fixed numbers of threads for requests, and a bounded wait for a free one."""

from __future__ import annotations

import asyncio
from collections import deque
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from contextvars import Context
from typing import TypeVar

Result = TypeVar("Result")

QUEUED_PER_THREAD = 64
# So often in a row the favoured go first where others wait too: not even a flood of them stops the rest.
FAVOURS = 3


class Overloaded(Exception):
    """No thread was free in time, or too many requests wait for one already."""


class Lane:
    """`threads` threads for everybody, and `kept` more for the favoured alone.

    Who finds none waits `wait_seconds` at most, together with at most `queue_max` others. They are
    served in the order of asking, the favoured before the rest.
    """

    def __init__(
        self, name: str, threads: int, *, kept: int = 0, wait_seconds: float, queue_max: int | None = None
    ) -> None:
        self._executor = ThreadPoolExecutor(threads + kept, thread_name_prefix=name)
        self._threads, self._kept = threads, kept
        self._wait_seconds = wait_seconds
        self._queue_max = threads * QUEUED_PER_THREAD if queue_max is None else queue_max
        # Each by whether it is favoured.
        self._running = {True: 0, False: 0}
        self._waiting: dict[bool, deque[asyncio.Future[None]]] = {True: deque(), False: deque()}
        self._favours = 0

    async def run(self, call: Callable[..., Result], *arguments: object, favoured: bool = False) -> Result:
        """The result of `call` on one of the threads; raises Overloaded, and then nothing was called."""
        if self._has_room(favoured):
            self._running[favoured] += 1
        else:
            await self._wait(favoured)
        try:
            # A context of its own, so that what one request binds (to logs, say) never reaches the next.
            return await asyncio.get_running_loop().run_in_executor(self._executor, Context().run, call, *arguments)
        finally:
            self._leave(favoured)

    def close(self) -> None:
        """Let the threads go once idle; waits for none."""
        self._executor.shutdown(wait=False, cancel_futures=True)

    def _has_room(self, favoured: bool) -> bool:
        everybody = sum(self._running.values())
        return everybody < self._threads + self._kept and (favoured or self._running[False] < self._threads)

    async def _wait(self, favoured: bool) -> None:
        queue = self._waiting[favoured]
        if len(queue) >= self._queue_max:
            raise Overloaded
        loop = asyncio.get_running_loop()
        turn: asyncio.Future[None] = loop.create_future()
        queue.append(turn)
        timer = loop.call_later(self._wait_seconds, _give_up, queue, turn)
        try:
            await turn
        except asyncio.CancelledError:
            if not turn.cancelled() and turn.exception() is None:  # its turn came in the same instant
                self._leave(favoured)
            raise
        finally:
            timer.cancel()

    def _leave(self, favoured: bool) -> None:
        self._running[favoured] -= 1
        while (next_one := self._next()) is not None:
            turn = self._waiting[next_one].popleft()
            if not turn.done():
                self._running[next_one] += 1
                turn.set_result(None)

    def _next(self) -> bool | None:
        able = [favoured for favoured, queue in self._waiting.items() if queue and self._has_room(favoured)]
        if len(able) < 2:
            return able[0] if able else None
        self._favours = (self._favours + 1) % (FAVOURS + 1)
        return self._favours != 0


def _give_up(queue: deque[asyncio.Future[None]], turn: asyncio.Future[None]) -> None:
    if not turn.done():
        queue.remove(turn)
        turn.set_exception(Overloaded())
