"""A page's stream: it beats, and hints at what to get again. No content, so nothing can leak."""

from __future__ import annotations

import time
from collections.abc import Callable, Iterable
from time import monotonic

from octostore.leases.models import LeaseEvent
from octostore.leases.outcomes import Revision
from octostore.leases.watching import Position, State
from octostore.live.seats import seats
from octostore.live.streams import Stream

BEAT_SECONDS = 10.0
PAGES_MAX_PER_READER = 6


def take_seat(reader: str) -> Callable[[], None]:
    """A seat for one more open page of `reader`, a user or a client. Raises RateLimited."""
    return seats.take(f"pages of {reader}", at_most=PAGES_MAX_PER_READER)


class PageStream(Stream):
    """Begins with a beat, and beats whatever else it says: the page tells a living silence from a dead one by it."""

    def __init__(self, cut: Callable[[], None]) -> None:
        super().__init__(beat(), cut)
        self._beat_at = monotonic()

    def keep_alive(self, now: float) -> None:
        if now - self._beat_at >= BEAT_SECONDS:
            self._beat_at = now
            self.feed(beat())


class Hinting:
    """The encoder of one topic: whatever happened, the hint is how far the name has come."""

    def __init__(self, topic: str) -> None:
        self._topic = topic

    def event(self, event: LeaseEvent) -> bytes:
        return changed(self._topic, Revision(incarnation=event.incarnation, n=event.n))

    def state(self, state: State, *, kind: str = "state", with_id: bool) -> bytes:
        position = Position.of(state)
        return changed(self._topic, f"{position.revision}-{position.expires_at or 0}")

    def renewal(self, state: State) -> bytes:
        return self.state(state, with_id=False)


class Audience:
    """Pages that are told of whole spaces: many changes at once become one hint.

    `note` may be called from any thread; everything else belongs to the event loop.
    """

    def __init__(self) -> None:
        self._listeners: dict[str, set[tuple[Stream, str]]] = {}
        self._noted: set[str] = set()

    def join(self, stream: Stream, spaces: dict[str, str]) -> None:
        for space, topic in spaces.items():
            self._listeners.setdefault(space, set()).add((stream, topic))

    def leave(self, stream: Stream, spaces: dict[str, str]) -> None:
        for space, topic in spaces.items():
            self._listeners[space].discard((stream, topic))
            if not self._listeners[space]:
                del self._listeners[space]

    def note(self, spaces: Iterable[str]) -> None:
        if self._listeners:
            self._noted.update(space for space in (*spaces, "") if space in self._listeners)

    def tell(self) -> None:
        """Hint at what was noted since the last time."""
        noted, self._noted = self._noted, set()
        at = time.time_ns() // 1_000_000
        for space in noted:
            for stream, topic in self._listeners.get(space, ()):
                stream.feed(changed(topic, at))


def beat() -> bytes:
    """The server's clock in milliseconds since 1970."""
    return b"event: hb\ndata: %d\n\n" % (time.time_ns() // 1_000_000)


def changed(topic: str, version: object) -> bytes:
    return f"event: changed\ndata: {topic} {version}\n\n".encode()
