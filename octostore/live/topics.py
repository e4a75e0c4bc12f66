"""One name that is watched or waited for in this process: who does, and when to look again."""

from __future__ import annotations

import asyncio
from collections import defaultdict, deque
from collections.abc import Awaitable, Callable
from datetime import timedelta
from typing import Any

import structlog

from octostore.leases.outcomes import Held, Revision
from octostore.leases.watching import Look, look
from octostore.lib.errors import Unavailable
from octostore.live.hints import Name
from octostore.live.streams import Stream, Told

# The timer only wakes; a little late it finds the deadline passed, a little early it would look twice.
LATE_SECONDS = 0.002
AGAIN_SECONDS = 1.0

log = structlog.get_logger(__name__)

OnThread = Callable[..., Awaitable[Any]]


class Waiter:
    """One parked request; `turn` is set when it should try."""

    __slots__ = ("turn",)

    def __init__(self) -> None:
        self.turn = asyncio.Event()


class Topic:
    """Belongs to the event loop, which is its only lock.

    However many streams there are, a change is read once and its frames are encoded once; only the
    first of the waiters tries.
    """

    def __init__(self, name: Name, on_thread: OnThread) -> None:
        self.name = name
        self.streams: set[Stream] = set()
        self.waiters: deque[Waiter] = deque()
        # As last read here; what differs from it in the row is news.
        self.revision: Revision | None = None
        self._on_thread = on_thread
        self._timer: asyncio.TimerHandle | None = None
        self._stale = False
        self._reading: asyncio.Task[None] | None = None

    @property
    def is_idle(self) -> bool:
        return not self.streams and not self.waiters

    def wake(self) -> None:
        """Something may have changed: let the first waiter try, and tell the streams what the row says."""
        if self.waiters:
            self.waiters[0].turn.set()
        if self.streams:
            self._stale = True
            if self._reading is None:
                self._reading = asyncio.get_running_loop().create_task(self._read())

    def expect(self, remaining: timedelta) -> None:
        """Look again when a lease that has this much left is over."""
        self._wake_in(remaining.total_seconds() + LATE_SECONDS)

    def close(self) -> None:
        if self._timer:
            self._timer.cancel()

    def _wake_in(self, seconds: float) -> None:
        self.close()
        self._timer = asyncio.get_running_loop().call_later(seconds, self.wake)

    async def _read(self) -> None:
        try:
            while self._stale and self.streams:
                self._stale = False
                await self._tell()
        except Unavailable as error:
            log.info("watch_waits_for_storage", cause=error.details)
            self._wake_in(AGAIN_SECONDS)
        finally:
            self._reading = None

    async def _tell(self) -> None:
        """Bring every stream from what its reader knows to what the row says.

        Nearly always all know the same; who has just come may be behind or ahead of the others.
        """
        groups: dict[Told, list[Stream]] = defaultdict(list)
        for stream in self.streams:
            groups[stream.told].append(stream)
        for told, members in groups.items():
            seen: Look = await self._on_thread(look, *self.name, told.revision)
            frames = _frames(seen, members[0], told)
            for stream in members:
                stream.told = Told.by(seen.state)
                for frame in frames:
                    stream.feed(frame)
            self.revision = seen.state.revision
            if isinstance(seen.state, Held):
                self.expect(seen.state.remaining)


def _frames(seen: Look, stream: Stream, told: Told) -> list[bytes]:
    encoder = stream.ticket.encoder
    if seen.reset:
        return [encoder.state(seen.state, kind="reset", with_id=True)]
    if seen.events:
        return [encoder.event(event) for event in seen.events]
    return [] if told == Told.by(seen.state) else [encoder.state(seen.state, with_id=False)]
