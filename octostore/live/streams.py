"""One open stream: a bounded queue between the topic that feeds it and the connection that drains it."""

from __future__ import annotations

import asyncio
from collections import deque
from collections.abc import Callable
from time import monotonic

from octostore.leases.watching import Position
from octostore.live import sse
from octostore.live.tickets import WatchTicket

# A reader further behind than this is cut; it resumes by its last id.
FRAMES_MAX = 64


class Stream:
    """Belongs to the event loop. `cut` closes its connection at once, whatever was not sent yet."""

    __slots__ = ("_cut", "_frames", "_something", "born_at", "encoder", "fed_at", "is_over", "told")

    def __init__(self, ticket: WatchTicket, cut: Callable[[], None]) -> None:
        self.encoder = ticket.encoder
        # What its reader knows once it has read what is queued.
        self.told = Position.of(ticket.state)
        self.born_at = self.fed_at = monotonic()
        self.is_over = False
        self._cut = cut
        self._frames = deque([sse.opening(ticket.opening)])
        self._something = asyncio.Event()
        self._something.set()

    def feed(self, frame: bytes) -> None:
        if self.is_over:
            return
        if len(self._frames) >= FRAMES_MAX:
            self.end()
            self._cut()
            return
        self._frames.append(frame)
        self.fed_at = monotonic()
        self._something.set()

    def end(self, farewell: bytes = b"") -> None:
        """Let the connection send what is queued, then the farewell, then close."""
        if not self.is_over:
            self.is_over = True
            self._frames.append(farewell)
            self._something.set()

    async def take(self) -> bytes:
        """All that is queued, as one piece; nothing when the stream is over."""
        await self._something.wait()
        piece = b"".join(self._frames)
        self._frames.clear()
        if not self.is_over:
            self._something.clear()
        return piece
