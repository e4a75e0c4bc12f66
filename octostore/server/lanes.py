"""Fixed numbers of threads for requests, and a bounded wait for a free one."""

from __future__ import annotations

import asyncio
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from contextvars import Context
from typing import TypeVar

Result = TypeVar("Result")

QUEUED_PER_THREAD = 64


class Overloaded(Exception):
    """No thread was free in time, or too many requests wait for one already."""


class Lane:
    """`threads` threads, handed out in the order of asking; at most `queue_max` callers wait, `wait_seconds` each."""

    def __init__(self, name: str, threads: int, *, wait_seconds: float, queue_max: int | None = None) -> None:
        self._executor = ThreadPoolExecutor(threads, thread_name_prefix=name)
        self._free = asyncio.Semaphore(threads)
        self._wait_seconds = wait_seconds
        self._waiting = 0
        self._waiting_max = threads * QUEUED_PER_THREAD if queue_max is None else queue_max

    @property
    def is_busy(self) -> bool:
        """Whether who asks now would have to wait."""
        return self._free.locked()

    async def run(self, call: Callable[..., Result], *arguments: object) -> Result:
        """The result of `call` on one of the threads; raises Overloaded, and then nothing was called."""
        await self._take()
        try:
            # A context of its own, so that what one request binds (to logs, say) never reaches the next.
            return await asyncio.get_running_loop().run_in_executor(self._executor, Context().run, call, *arguments)
        finally:
            self._free.release()

    def close(self) -> None:
        """Let the threads go once idle; waits for none."""
        self._executor.shutdown(wait=False, cancel_futures=True)

    async def _take(self) -> None:
        if not self.is_busy:
            await self._free.acquire()
            return
        if self._waiting >= self._waiting_max:
            raise Overloaded
        self._waiting += 1
        try:
            async with asyncio.timeout(self._wait_seconds):
                await self._free.acquire()
        except TimeoutError:
            raise Overloaded from None
        finally:
            self._waiting -= 1
