"""Hints: "read that name again", from this process to all others through Redis.

A hint is sent after the commit and may be lost with Redis or a crash; what it points at is never
lost, for every process compares its watched names with the rows once a second.
"""

from __future__ import annotations

import secrets
import threading
from collections.abc import Callable, Iterable
from queue import Empty, SimpleQueue

import msgspec
import redis
import structlog
from redis.backoff import NoBackoff
from redis.retry import Retry

CHANNEL = "octostore:hints"
BATCH_SECONDS = 0.01
ANSWER_SECONDS = 1.0
POLL_SECONDS = 0.5
RETRY_SECONDS = 1.0
# Firewalls forget connections that are silent for long.
PING_SECONDS = 5

Name = tuple[str, str]

log = structlog.get_logger(__name__)


class Batch(msgspec.Struct, array_like=True):
    """What goes over the channel: who sends, and the names it changed."""

    origin: str
    names: list[Name]


class Hints:
    """Publishes the names this process changed, in batches, and hears those that others changed.

    `hear` is called with names from other processes, on a thread of this object. With an empty
    `url` every process is alone and nothing is started.
    """

    def __init__(self, url: str, hear: Callable[[Iterable[Name]], None]) -> None:
        self._url = url
        self._hear = hear
        self._origin = secrets.token_hex(8)
        self._changed: SimpleQueue[Name] = SimpleQueue()
        self._is_publishing = False
        self._stopping = threading.Event()

    def start(self) -> None:
        if self._url:
            self._stopping = threading.Event()
            for work in (self._publish, self._subscribe):
                threading.Thread(
                    target=self._persist, args=(work, self._stopping), name=work.__name__, daemon=True
                ).start()

    def stop(self) -> None:
        """End the threads; they notice within a second."""
        self._stopping.set()

    def tell(self, name: Name) -> None:
        """Publish `name` with the next batch; never waits. Without Redis it is told to nobody."""
        if self._is_publishing:
            self._changed.put(name)

    def _publish(self, client: redis.Redis, stopping: threading.Event) -> None:
        self._is_publishing = True
        try:
            while not stopping.is_set():
                try:
                    names = {self._changed.get(timeout=POLL_SECONDS)}
                except Empty:
                    continue
                stopping.wait(BATCH_SECONDS)
                while not self._changed.empty():
                    names.add(self._changed.get())
                client.publish(CHANNEL, msgspec.json.encode(Batch(self._origin, sorted(names))))
        finally:
            self._is_publishing = False

    def _subscribe(self, client: redis.Redis, stopping: threading.Event) -> None:
        with client.pubsub(ignore_subscribe_messages=True) as subscription:  # type: ignore[no-untyped-call]
            subscription.subscribe(CHANNEL)
            while not stopping.is_set():
                message = subscription.get_message(timeout=POLL_SECONDS)
                if message:
                    batch = msgspec.json.decode(message["data"], type=Batch)
                    if batch.origin != self._origin:
                        self._hear(batch.names)

    def _persist(self, work: Callable[[redis.Redis, threading.Event], None], stopping: threading.Event) -> None:
        """Do `work` on a connection of its own, again and again after Redis was away."""
        is_alone = False
        while not stopping.is_set():
            client = redis.Redis.from_url(
                self._url,
                socket_connect_timeout=ANSWER_SECONDS,
                socket_timeout=ANSWER_SECONDS,
                health_check_interval=PING_SECONDS,
                retry=Retry(NoBackoff(), 0),
            )
            try:
                client.ping()
                if is_alone:
                    log.info("hints_shared_again", work=work.__name__)
                is_alone = False
                work(client, stopping)
            # What else is on the channel is nobody's hint; whom it was meant for finds out without it.
            except (redis.RedisError, msgspec.MsgspecError) as error:
                if not is_alone:
                    log.warning("hints_alone", cause=type(error).__name__, work=work.__name__)
                is_alone = True
                stopping.wait(RETRY_SECONDS)
            finally:
                client.close()
