"""How many rooms may be led at once, in all and for each client; counted within a second."""

from __future__ import annotations

import threading
import time
from collections import Counter

from django.conf import settings

from octostore.leases import engine
from octostore.lib.errors import CapacityExceeded

RETRY_AFTER_MS = 30_000
FRESH_SECONDS = 1.0


class Capacity:
    """The led rooms of a space as last counted, corrected by what this process saw since.

    `client` is whom a room counts against, as the engine keeps it.
    """

    def __init__(self, space: str) -> None:
        self._space = space
        self._guard = threading.Lock()
        self._counting = threading.Lock()
        self._led: Counter[str] = Counter()
        # The rooms admitted since the count, and to whom: of all campaigns for one room one can win.
        self._admitted: dict[str, str] = {}
        self._counted_at = float("-inf")

    def admit(self, room: str, client: str) -> None:
        """Let `client` lead one more room; raises CapacityExceeded when it, or the space, leads as many as may be."""
        self._count()
        with self._guard:
            if room in self._admitted:
                return
            if self._led[client] >= settings.LED_ROOMS_MAX_PER_CLIENT:
                raise CapacityExceeded(
                    f"A client can lead {settings.LED_ROOMS_MAX_PER_CLIENT} rooms at once",
                    retry_after_ms=RETRY_AFTER_MS,
                )
            if self._led.total() >= settings.LED_ROOMS_MAX:
                raise CapacityExceeded("All rooms that can be led at once are led", retry_after_ms=RETRY_AFTER_MS)
            self._led[client] += 1
            self._admitted[room] = client

    def vacate(self, room: str, client: str) -> None:
        """Room was made: `client`, unless it is known to be another one, leads `room` no more."""
        with self._guard:
            client = self._admitted.pop(room, client)
            self._led[client] = max(self._led[client] - 1, 0)

    def _count(self) -> None:
        """Count anew unless that was just done. Storage is asked outside the guard: resigning waits for nobody."""
        with self._counting:
            if time.monotonic() - self._counted_at < FRESH_SECONDS:
                return
            try:
                led = Counter(engine.count_live(self._space))
            finally:
                # Also when storage is down: those who wait here must not each wait for it in turn.
                self._counted_at = time.monotonic()
            with self._guard:
                self._led, self._admitted = led, {}
