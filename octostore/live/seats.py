"""How many streams and waits may be open, in this process and for each client."""

from __future__ import annotations

import threading
from collections import Counter
from collections.abc import Callable

from django.conf import settings

from octostore.lib.errors import RateLimited

RETRY_AFTER_MS = 5_000


class Seats:
    """Counts what is open; the limits are asked on each request, so that they may be settings."""

    def __init__(self, *, in_all: Callable[[], int], per_client: Callable[[], int]) -> None:
        self._in_all = in_all
        self._per_client = per_client
        self._guard = threading.Lock()
        self._taken: Counter[str] = Counter()

    def __len__(self) -> int:
        return self._taken.total()

    def taken_by(self, client: str) -> int:
        return self._taken[client]

    def take(self, client: str, *, at_most: int | None = None) -> Callable[[], None]:
        """A seat for `client`, as the function that gives it back (once; again is harmless).

        `at_most` is a limit of its own, a team's quota. Raises RateLimited when the client, or the
        process, has as many open as it may.
        """
        limit = self._per_client() if at_most is None else at_most
        with self._guard:
            if self._taken[client] >= limit:
                raise RateLimited(f"No more than {limit} can be open at once", retry_after_ms=RETRY_AFTER_MS)
            if self._taken.total() >= self._in_all():
                raise RateLimited("All streams and waits of this process are taken", retry_after_ms=RETRY_AFTER_MS)
            self._taken[client] += 1
        given_back = False

        def give_back() -> None:
            nonlocal given_back
            with self._guard:
                if not given_back:
                    given_back = True
                    self._taken[client] -= 1
                    if not self._taken[client]:
                        del self._taken[client]

        return give_back


def streams_of(team_uuid: str) -> str:
    """As whom a team takes seats for its streams, apart from those for its waits."""
    return f"streams of {team_uuid}"


def waits_of(team_uuid: str) -> str:
    return f"waits of {team_uuid}"


seats = Seats(in_all=lambda: settings.STREAMS_MAX, per_client=lambda: settings.STREAMS_MAX_PER_CLIENT)
