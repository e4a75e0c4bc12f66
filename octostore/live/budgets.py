"""Token buckets: so many requests a minute for each client, counted in this process."""

from __future__ import annotations

import math
import threading
import time
from collections import OrderedDict
from collections.abc import Callable
from dataclasses import dataclass

from octostore.lib.errors import RateLimited

MINUTE_NS = 60 * 10**9
CLIENTS_MAX = 10_000


@dataclass(slots=True)
class Bucket:
    """One client's bucket, kept as the instant at which it is full again.

    With one integer there is no level to refill: it is full once `full_at` has passed, and empty
    while `full_at` lies a minute ahead. Instants are those of the budget's clock, in nanoseconds.
    """

    full_at: int
    unshared: int = 0  # requests granted that other processes have not been told of
    since: int = 0  # the instant of the first of these


@dataclass(frozen=True, slots=True, kw_only=True)
class Spending:
    """What one client spent since others were last told; `as_of` is the instant of telling."""

    client: str
    cost_ns: int  # the time it takes to refill what was spent
    age_ns: int  # how long ago the first of it was spent
    as_of: int


class Budget:
    """`per_minute` requests for each client, refilled evenly; a full bucket may be spent at once.

    Exact under threads. `per_minute` is asked on each request, so that it may be a setting;
    `clock` gives nanoseconds that never go back; `on_new_client` is called, outside the lock,
    before a client's first request. At most `clients_max` clients are remembered: those that were
    away longest are forgotten first, which gives them a full bucket.
    """

    def __init__(
        self,
        name: str,
        per_minute: Callable[[], int],
        *,
        clock: Callable[[], int] = time.monotonic_ns,
        clients_max: int = CLIENTS_MAX,
        on_new_client: Callable[[], None] = lambda: None,
    ) -> None:
        self.name = name
        self._per_minute = per_minute
        self._clock = clock
        self._clients_max = clients_max
        self._on_new_client = on_new_client
        self.forget_all()

    def __len__(self) -> int:
        return len(self._buckets)

    def spend(self, client: str) -> None:
        """Take one request from the client's bucket; RateLimited, saying when to come back, when it is empty."""
        if client not in self._buckets:
            self._on_new_client()
        limit = self._per_minute()
        interval = MINUTE_NS // limit
        with self._lock:
            now = self._clock()
            bucket = self._find_or_make(client, now)
            full_at = max(bucket.full_at, now) + interval
            wait = full_at - now - MINUTE_NS
            if wait <= 0:
                if not bucket.unshared:
                    bucket.since = now
                bucket.unshared += 1
                bucket.full_at = full_at
                return
        raise _refusal(wait, limit)

    def require(self, client: str) -> None:
        """Raise RateLimited, as `spend` would, when the client's bucket is empty; takes nothing from it."""
        bucket = self._buckets.get(client)
        if bucket:
            limit = self._per_minute()
            wait = bucket.full_at + MINUTE_NS // limit - self._clock() - MINUTE_NS
            if wait > 0:
                raise _refusal(wait, limit)

    def take_unshared(self) -> list[Spending]:
        """What to tell other processes, each request once; also the clients whose bucket is not full, to hear of."""
        interval = MINUTE_NS // self._per_minute()
        taken = []
        # A copy, so that requests wait for one bucket at a time and never for the whole walk.
        for client, bucket in list(self._buckets.items()):
            with self._lock:
                now = self._clock()
                if bucket.unshared or bucket.full_at > now:
                    age = now - bucket.since if bucket.unshared else 0
                    taken.append(Spending(client=client, cost_ns=bucket.unshared * interval, age_ns=age, as_of=now))
                    bucket.unshared = 0
        return taken

    def learn(self, spending: Spending, full_in_ns: int) -> None:
        """Take over what all processes together spent: full `full_in_ns` after the instant of telling.

        A bucket is never filled by this, so what was counted here stays counted whatever others lost.
        """
        with self._lock:
            bucket = self._buckets.get(spending.client)
            if bucket:
                meanwhile = bucket.unshared * (MINUTE_NS // self._per_minute())
                bucket.full_at = max(bucket.full_at, spending.as_of + full_in_ns + meanwhile)

    def forget_all(self) -> None:
        """Start afresh, also after a fork: the parent's lock may be held, and its requests are its own to tell."""
        self._lock = threading.Lock()
        self._buckets: OrderedDict[str, Bucket] = OrderedDict()

    def _find_or_make(self, client: str, now: int) -> Bucket:
        """The client's bucket, now the most recently used; for a new one, old ones give way."""
        bucket = self._buckets.get(client)
        if bucket and not _is_idle(bucket, now):
            self._buckets.move_to_end(client)
            return bucket
        self._buckets.pop(client, None)
        # Two for each new one: idle buckets go faster than new ones come, without a walk over all.
        for _ in range(2):
            oldest = next(iter(self._buckets), None)
            if oldest and (len(self._buckets) >= self._clients_max or _is_idle(self._buckets[oldest], now)):
                del self._buckets[oldest]
        bucket = self._buckets[client] = Bucket(full_at=now)
        return bucket


def _refusal(wait_ns: int, limit: int) -> RateLimited:
    return RateLimited(f"The budget is {limit} a minute for each client", retry_after_ms=math.ceil(wait_ns / 10**6))


def _is_idle(bucket: Bucket, now: int) -> bool:
    """Full for a minute: by then others have been told, or will not care, since all is refilled."""
    return bucket.full_at + MINUTE_NS <= now
