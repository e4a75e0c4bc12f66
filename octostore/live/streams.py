"""One open stream: a bounded queue between the topic that feeds it and the connection that drains it."""

from __future__ import annotations

import asyncio
from collections import deque
from time import monotonic
from typing import NamedTuple, Self

from octostore.leases.outcomes import Held, Revision
from octostore.live import sse
from octostore.live.tickets import State, WatchTicket

# A reader further behind than this is cut; it resumes by its last id.
FRAMES_MAX = 64


class Told(NamedTuple):
    """What a reader knows. A renewal moves the deadline and nothing else."""

    revision: Revision
    expires_at: int | None

    @classmethod
    def by(cls, state: State) -> Self:
        return cls(state.revision, state.hold.expires_at if isinstance(state, Held) else None)


class Stream:
    """Belongs to the event loop."""

    __slots__ = ("_frames", "_something", "born_at", "ended", "fed_at", "ticket", "told")

    def __init__(self, ticket: WatchTicket) -> None:
        self.ticket = ticket
        self.told = Told.by(ticket.state)
        self.born_at = self.fed_at = monotonic()
        self.ended = False
        self._frames: deque[bytes] = deque([sse.opening(ticket.opening)])
        self._something = asyncio.Event()
        self._something.set()
        ticket.opening = b""

    def feed(self, frame: bytes) -> None:
        if self.ended:
            return
        if len(self._frames) >= FRAMES_MAX:
            self._frames.clear()
            self.end()
            return
        self._frames.append(frame)
        self.fed_at = monotonic()
        self._something.set()

    def end(self, farewell: bytes = b"") -> None:
        """Let the connection send what is queued, then the farewell, then close."""
        if farewell:
            self._frames.append(farewell)
        self.ended = True
        self._something.set()

    async def take(self) -> bytes | None:
        """All that is queued, as one piece; None when the stream is over."""
        await self._something.wait()
        self._something.clear()
        if self._frames:
            piece = b"".join(self._frames)
            self._frames.clear()
            if self.ended:
                self._something.set()
            return piece
        return None
