"""One open stream: a bounded queue between the topics that feed it and the connection that drains it."""

from __future__ import annotations

import asyncio
from collections import deque
from collections.abc import Callable
from math import inf
from time import monotonic

from octostore.leases.watching import Position
from octostore.live import sse
from octostore.live.tickets import Encoder

# A reader further behind than this is cut; it resumes by its last id.
FRAMES_MAX = 64
KEEPALIVE_SECONDS = 15.0


class Stream:
    """Belongs to the event loop. `cut` closes its connection at once, whatever was not sent yet."""

    def __init__(self, opening: bytes, cut: Callable[[], None]) -> None:
        self.born_at = self.fed_at = monotonic()
        self.is_over = False
        # When the last piece was taken, until the connection has room for another one.
        self.sending_since = inf
        self.cut = cut
        self._frames = deque([sse.opening(opening)])
        self._something = asyncio.Event()
        self._something.set()

    def feed(self, frame: bytes) -> None:
        if self.is_over:
            return
        if len(self._frames) >= FRAMES_MAX:
            self.end()
            self.cut()
            return
        self._frames.append(frame)
        self.fed_at = monotonic()
        self._something.set()

    def keep_alive(self, now: float) -> None:
        """Speak after a long silence."""
        if now - self.fed_at >= KEEPALIVE_SECONDS:
            self.feed(sse.KEEPALIVE)

    def end(self, farewell: bytes = b"") -> None:
        """Let the connection send what is queued, then the farewell, then close."""
        if not self.is_over:
            self.is_over = True
            self._frames.append(farewell)
            self._something.set()

    async def take(self) -> bytes:
        """All that is queued, as one piece; nothing when the stream is over."""
        self.sending_since = inf
        await self._something.wait()
        self.sending_since = monotonic()
        piece = b"".join(self._frames)
        self._frames.clear()
        if not self.is_over:
            self._something.clear()
        return piece


class Reader:
    """A stream as a reader of one name, and what it knows of it once it has read what is queued."""

    __slots__ = ("encoder", "stream", "told")

    def __init__(self, stream: Stream, encoder: Encoder, told: Position | None) -> None:
        self.stream = stream
        self.encoder = encoder
        self.told = told
