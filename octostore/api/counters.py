"""The few numbers everybody may see, counted at most once a second however many ask."""

from __future__ import annotations

import threading
import time

from django.conf import settings
from msgspec import Struct

from octostore import __version__
from octostore.leases import engine
from octostore.lib.errors import Unavailable

FRESH_SECONDS = 1.0
STARTED_AT = time.monotonic()


class Counters(Struct, kw_only=True):
    """`led_rooms` is what the database says, up to a second ago; `uptime_seconds` is of the process that answers."""

    version: str
    uptime_seconds: int
    public_elections: bool
    led_rooms: int
    led_rooms_max: int


class LedRooms:
    """How many rooms are led, as last counted; while storage is down, nobody waits for it twice."""

    def __init__(self) -> None:
        self._guard = threading.Lock()
        self._number: int | None = None
        self._asked_at = float("-inf")

    def number(self) -> int:
        with self._guard:
            if time.monotonic() - self._asked_at > FRESH_SECONDS:
                try:
                    self._number = sum(engine.count_live("elections").values())
                except Unavailable:
                    self._number = None
                self._asked_at = time.monotonic()
            if self._number is None:
                raise Unavailable
            return self._number


_led_rooms = LedRooms()


def counters() -> Counters:
    """Raises Unavailable when storage is down."""
    return Counters(
        version=__version__,
        uptime_seconds=int(time.monotonic() - STARTED_AT),
        public_elections=settings.PUBLIC_ELECTIONS,
        led_rooms=_led_rooms.number(),
        led_rooms_max=settings.LED_ROOMS_MAX,
    )
