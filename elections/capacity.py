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
    """The led rooms of a space as last counted, and the grants of this process since then."""

    def __init__(self, space: str) -> None:
        self._space = space
        self._guard = threading.Lock()
        self._led: Counter[str] = Counter()
        self._counted_at = float("-inf")

    def admit(self, client: str) -> None:
        """Let one more room of `client` be led; raises CapacityExceeded when there is no room left."""
        with self._guard:
            if time.monotonic() - self._counted_at > FRESH_SECONDS:
                self._led = Counter(engine.count_live(self._space))
                self._counted_at = time.monotonic()
            if self._led[client] >= settings.LED_ROOMS_MAX_PER_CLIENT:
                raise CapacityExceeded(
                    f"A client can lead {settings.LED_ROOMS_MAX_PER_CLIENT} rooms at once",
                    retry_after_ms=RETRY_AFTER_MS,
                )
            if self._led.total() >= settings.LED_ROOMS_MAX:
                raise CapacityExceeded("All rooms that can be led at once are led", retry_after_ms=RETRY_AFTER_MS)
            self._led[client] += 1
