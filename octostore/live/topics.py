"""One name that is watched or waited for in this process: who does, and when to look again."""

from __future__ import annotations

import asyncio
from bisect import insort
from collections import defaultdict
from collections.abc import Awaitable, Callable
from operator import attrgetter
from typing import Any

import structlog

from octostore.leases.outcomes import Vacant
from octostore.leases.watching import Look, Position, State, look
from octostore.lib.errors import Unavailable
from octostore.live.hints import Name
from octostore.live.streams import Reader
from octostore.live.tickets import Encoder

# The timer only wakes; a little late it finds the deadline passed, a little early it would look twice.
LATE_SECONDS = 0.002
AGAIN_SECONDS = 1.0

log = structlog.get_logger(__name__)

# Runs a function on a thread kept for looking; raises what it raises, and Unavailable where no thread was free.
OnThread = Callable[..., Awaitable[Any]]


class Waiter:
    """One parked request that came at `since`; `turn` is set when it should try."""

    __slots__ = ("since", "turn")

    def __init__(self, since: float) -> None:
        self.since = since
        self.turn = asyncio.Event()


class Topic:
    """Belongs to the event loop, which is its only lock.

    However many streams there are, a change is read once and its frames are encoded once; of the
    waiters only the first tries.
    """

    def __init__(self, name: Name, on_thread: OnThread) -> None:
        self.name = name
        self.readers: set[Reader] = set()
        # In the order in which their requests came.
        self.waiters: list[Waiter] = []
        self._on_thread = on_thread
        # As last read here.
        self._position: Position | None = None
        self._timer: asyncio.TimerHandle | None = None
        self._stale = False
        self._reading: asyncio.Task[None] | None = None

    @property
    def is_idle(self) -> bool:
        return not self.readers and not self.waiters

    def wake(self) -> None:
        """Something may have changed: let the first waiter try, and tell the streams what the row says."""
        self._call_first()
        self.refresh()

    def refresh(self) -> None:
        """Tell the streams what the row says."""
        if self.readers:
            self._stale = True
            if self._reading is None:
                self._reading = asyncio.get_running_loop().create_task(self._read())

    def join(self, waiter: Waiter) -> None:
        """Put `waiter` where it belongs in the queue."""
        insort(self.waiters, waiter, key=attrgetter("since"))
        if self.waiters[0] is waiter:
            waiter.turn.set()

    def leave(self, waiter: Waiter) -> None:
        """Take `waiter` out of the queue; whoever is first then tries, for it may not have."""
        was_first = self.waiters[0] is waiter
        self.waiters.remove(waiter)
        if was_first:
            self._call_first()

    def observe(self, state: State | None) -> None:
        """Remember what was read, and look again when the lease it told of is over; soon, where nothing was read."""
        if state is None:
            self._wake_in(AGAIN_SECONDS)
            return
        self._position = Position.of(state)
        if not isinstance(state, Vacant):
            self._wake_in(state.remaining.total_seconds() + LATE_SECONDS)

    def compare(self, position: Position) -> None:
        """Look again where the row has come further than was read here."""
        if position != self._position:
            self.wake()

    def close(self) -> None:
        if self._timer:
            self._timer.cancel()

    def _call_first(self) -> None:
        if self.waiters:
            self.waiters[0].turn.set()

    def _wake_in(self, seconds: float) -> None:
        self.close()
        if not self.is_idle:
            self._timer = asyncio.get_running_loop().call_later(seconds, self.wake)

    async def _read(self) -> None:
        try:
            while self._stale and self.readers:
                self._stale = False
                await self._tell()
        except Unavailable as error:
            log.info("watch_waits_for_storage", cause=error.details)
            self.observe(None)
        finally:
            self._reading = None

    async def _tell(self) -> None:
        """Bring every stream from what its reader knows to what the row says.

        Nearly always all know the same; who has just come may be behind or ahead of the others.
        """
        alike: dict[Position | None, list[Reader]] = defaultdict(list)
        for reader in self.readers:
            alike[reader.told].append(reader)
        for told, readers in alike.items():
            seen: Look = await self._on_thread(look, *self.name, told.revision if told else None)
            self.observe(seen.state)
            position = Position.of(seen.state)
            encoded: dict[type[Encoder], list[bytes]] = {}
            for reader in readers:
                reader.told = position
                kind = type(reader.encoder)
                if kind not in encoded:
                    encoded[kind] = _frames(seen, reader.encoder, told)
                for frame in encoded[kind]:
                    reader.stream.feed(frame)


def _frames(seen: Look, encoder: Encoder, told: Position | None) -> list[bytes]:
    if told is None:
        return [encoder.state(seen.state, with_id=False)]
    if seen.reset:
        return [encoder.state(seen.state, kind="reset", with_id=True)]
    frames = [encoder.event(event) for event in seen.events]
    if seen.events:
        told = Position.after(seen.events[-1])
    if told != Position.of(seen.state):
        # A renewal, perhaps of the very term that the last event began.
        frames.append(encoder.renewal(seen.state))
    return frames
