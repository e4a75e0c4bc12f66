"""Budgets shared by all processes through Redis, in the background of requests.

Each process grants by its own buckets. Several times a second a thread tells Redis what was spent
and hears what all processes together spent. While Redis is down each process goes on alone.
"""

from __future__ import annotations

import threading
from collections.abc import Callable
from itertools import islice

import redis
import structlog
from django.core.exceptions import ImproperlyConfigured
from redis.backoff import NoBackoff
from redis.retry import Retry

from octostore.lib.secrets import ServerKey
from octostore.live.budgets import MINUTE_NS, Budget, Spending

# Telling and hearing each take up to one interval and one answer: together well below a second.
INTERVAL_SECONDS = 0.3
ANSWER_SECONDS = 0.25
CLIENTS_A_CALL = 500

# A debt of all processes together beyond this is forgiven, so that neither a burst over many
# processes nor a step back of Redis' clock shuts a client out for longer.
LONGEST_DEBT_NS = 2 * MINUTE_NS

# A bucket in Redis is the instant, in microseconds, at which it is full again; none is full.
# Spending counts from when it began, so that what was refilled since is not lost.
_SPEND = """
local time = redis.call('TIME')
local now = time[1] * 1000000 + time[2]
local longest = tonumber(ARGV[1])
local full_in = {}
for i, key in ipairs(KEYS) do
    local cost, age = tonumber(ARGV[2 * i]), tonumber(ARGV[2 * i + 1])
    local known = tonumber(redis.call('GET', key) or 0)
    local full_at = math.min(math.max(known, now - age) + cost, now + longest)
    if full_at > now and full_at ~= known then
        redis.call('SET', key, string.format('%.0f', full_at), 'PX', math.ceil((full_at - now) / 1000))
    end
    full_in[i] = math.max(full_at - now, 0)
end
return full_in
"""

log = structlog.get_logger(__name__)


class Sharing:
    """Keeps budgets in step through the Redis at `url`; with an empty `url` there is nothing to do.

    Its thread starts with the first client of a budget. Keys in Redis hold a digest of the client
    under `key`, and expire when the bucket is full. ImproperlyConfigured where `url` is no address.
    """

    _thread: threading.Thread | None
    _starting: threading.Lock
    _stopping: threading.Event

    def __init__(self, url: str, key: ServerKey, *, interval_seconds: float = INTERVAL_SECONDS) -> None:
        self._key = key
        self._interval_seconds = interval_seconds
        self._budgets: list[Budget] = []
        self._client = _connect_later(url) if url else None
        self._alone = False
        self.start_afresh()

    def budget(self, name: str, per_minute: Callable[[], int]) -> Budget:
        """A budget whose buckets are shared under `name`."""
        budget = Budget(name, per_minute, on_new_client=self.start)
        self._budgets.append(budget)
        return budget

    def start(self) -> None:
        """See that the thread runs."""
        if self._client is None or (self._thread and self._thread.is_alive()):
            return
        with self._starting:
            if self._thread is None or not self._thread.is_alive():
                self._thread = threading.Thread(target=self._run, name="budgets", daemon=True)
                self._thread.start()

    def stop(self) -> None:
        """End the thread, within the time of a few answers, and close the connection."""
        self._stopping.set()
        if self._thread:
            self._thread.join()
        if self._client:
            self._client.close()

    def start_afresh(self) -> None:
        """For a child after a fork: no thread came along, and what the parent granted is the parent's to tell."""
        self._thread = None
        self._starting = threading.Lock()
        self._stopping = threading.Event()
        for budget in self._budgets:
            budget.forget_all()

    def exchange(self) -> bool:
        """Tell what was spent here, hear what was spent everywhere; whether Redis took part."""
        if self._client is None:
            return False
        try:
            # Spending is told once, whether an answer comes or not: told twice it would punish twice.
            # So ask for a sign of life first, or a Redis that was stopped finds a pile of calls when it wakes.
            self._client.ping()
            for budget in self._budgets:
                self._share(self._client, budget)
        except redis.RedisError as error:
            if not self._alone:
                log.warning("budgets_alone", cause=type(error).__name__)
            self._alone = True
            return False
        if self._alone:
            log.info("budgets_shared_again")
        self._alone = False
        return True

    def _run(self) -> None:
        while not self._stopping.wait(self._interval_seconds):
            self.exchange()

    def _share(self, client: redis.Redis, budget: Budget) -> None:
        spend = client.register_script(_SPEND)
        spendings = iter(budget.take_unshared())
        while batch := list(islice(spendings, CLIENTS_A_CALL)):
            keys = [self._redis_key(budget, spending) for spending in batch]
            amounts = [amount // 1000 for spending in batch for amount in (spending.cost_ns, spending.age_ns)]
            for spending, full_in_us in zip(batch, spend(keys, [LONGEST_DEBT_NS // 1000, *amounts]), strict=True):
                budget.learn(spending, full_in_us * 1000)

    def _redis_key(self, budget: Budget, spending: Spending) -> str:
        digest = self._key.derive("budget", budget.name.encode(), spending.client.encode())
        return f"octostore:budget:{budget.name}:{digest[:16].hex()}"


def _connect_later(url: str) -> redis.Redis:
    try:
        return redis.Redis.from_url(
            url,
            socket_connect_timeout=ANSWER_SECONDS,
            socket_timeout=ANSWER_SECONDS,
            retry=Retry(NoBackoff(), 0),
        )
    except ValueError as error:
        raise ImproperlyConfigured("REDIS_URL is not the address of a Redis, like redis://127.0.0.1:6379/0.") from error
