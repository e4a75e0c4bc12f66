"""Hints: "read that name again", to this process at once and to all others through Redis.

A hint is sent after the commit and may be lost with Redis or a crash; what it points at is never
lost, for every process compares its watched names with the rows once a second.
"""

from __future__ import annotations

import json
import secrets
import threading
from collections.abc import Callable, Iterable

import redis
import structlog
from redis.backoff import NoBackoff
from redis.retry import Retry

CHANNEL = "octostore:hints"
BATCH_SECONDS = 0.01
RETRY_SECONDS = 1.0
ANSWER_SECONDS = 1.0

Name = tuple[str, str]

log = structlog.get_logger(__name__)


class Hints:
    """Publishes the names this process changed, in batches, and hears those that others changed.

    `hear` is called with names from other processes, on a thread of this object. With an empty
    `url` every process is alone and nothing is started.
    """

    def __init__(self, url: str, hear: Callable[[Iterable[Name]], None]) -> None:
        self._url = url
        self._hear = hear
        self._origin = secrets.token_hex(8)
        self._pending: set[Name] = set()
        self._something = threading.Event()
        self._stopping = threading.Event()
        self._threads: list[threading.Thread] = []

    def start(self) -> None:
        if not self._url:
            return
        for work in (self._publish, self._subscribe):
            thread = threading.Thread(target=self._persist, args=(work,), name=work.__name__, daemon=True)
            thread.start()
            self._threads.append(thread)

    def stop(self) -> None:
        """End the threads; they notice within a second."""
        self._stopping.set()
        self._something.set()

    def tell(self, name: Name) -> None:
        """Publish `name` with the next batch; never waits."""
        if self._threads:
            self._pending.add(name)
            self._something.set()

    def _publish(self, client: redis.Redis) -> None:
        while not self._stopping.is_set():
            self._something.wait()
            self._stopping.wait(BATCH_SECONDS)
            self._something.clear()
            # Swapped, not emptied: what is added meanwhile goes with the next batch.
            batch, self._pending = self._pending, set()
            if batch:
                client.publish(CHANNEL, json.dumps([self._origin, *sorted(batch)]))

    def _subscribe(self, client: redis.Redis) -> None:
        with client.pubsub(ignore_subscribe_messages=True) as subscription:  # type: ignore[no-untyped-call]
            subscription.subscribe(CHANNEL)
            while not self._stopping.is_set():
                message = subscription.get_message(timeout=ANSWER_SECONDS / 2)
                if message:
                    origin, *names = json.loads(message["data"])
                    if origin != self._origin:
                        self._hear((space, name) for space, name in names)

    def _persist(self, work: Callable[[redis.Redis], None]) -> None:
        """Do `work` on a connection of its own, again and again after Redis was away."""
        while not self._stopping.is_set():
            client = redis.Redis.from_url(
                self._url,
                socket_connect_timeout=ANSWER_SECONDS,
                socket_timeout=ANSWER_SECONDS,
                retry=Retry(NoBackoff(), 0),
            )
            try:
                work(client)
            except redis.RedisError as error:
                log.warning("hints_alone", cause=type(error).__name__, work=work.__name__)
                self._stopping.wait(RETRY_SECONDS)
            finally:
                client.close()
