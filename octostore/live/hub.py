"""All streams and waits of this process: hints come in, topics wake, the truth is read.

One hub for each process that serves them. Everything but `hear` and `is_awaited` belongs to its event loop.
"""

from __future__ import annotations

import asyncio
from collections import defaultdict
from collections.abc import Iterable, Iterator
from contextlib import contextmanager, suppress
from time import monotonic
from typing import Any

import structlog
from django.conf import settings

from octostore.leases.signals import lease_changed
from octostore.leases.watching import revisions
from octostore.lib.errors import Unavailable
from octostore.live import sse
from octostore.live.hints import Hints, Name
from octostore.live.streams import Stream
from octostore.live.tickets import WaitTicket, WatchTicket
from octostore.live.topics import OnThread, Topic, Waiter

TICK_SECONDS = 1.0
KEEPALIVE_SECONDS = 15.0

log = structlog.get_logger(__name__)


class Hub:
    def __init__(self) -> None:
        self._topics: dict[Name, Topic] = {}
        self._loop: asyncio.AbstractEventLoop | None = None
        self._on_thread: OnThread | None = None
        self._hints = Hints(settings.REDIS_URL, self.hear)
        self._ticking: asyncio.Task[None] | None = None
        self.stopping = asyncio.Event()

    def start(self, on_thread: OnThread) -> None:
        """Begin, on the running loop; `on_thread` runs a function on a thread kept for looking."""
        self._loop = asyncio.get_running_loop()
        self._on_thread = on_thread
        self._hints.start()
        self._ticking = self._loop.create_task(self._tick())
        lease_changed.connect(self._changed)

    def stop(self) -> None:
        """Say farewell to every stream and end every wait."""
        if self._loop is None or self.stopping.is_set():
            return
        self.stopping.set()
        lease_changed.disconnect(self._changed)
        self._hints.stop()
        if self._ticking:
            self._ticking.cancel()
        for topic in self._topics.values():
            for stream in topic.streams:
                stream.end(sse.bye("shutdown"))

    def hear(self, names: Iterable[Name]) -> None:
        """Wake the topics of these names; from any thread."""
        watched = [name for name in names if name in self._topics]
        if watched and self._loop:
            # The loop may be closing under a thread that still commits.
            with suppress(RuntimeError):
                self._loop.call_soon_threadsafe(self._wake, watched)

    @property
    def is_running(self) -> bool:
        """Whether somebody here takes tickets."""
        return self._loop is not None and not self.stopping.is_set()

    def is_awaited(self, name: Name) -> bool:
        """Whether requests are queued here for `name`; from any thread."""
        topic = self._topics.get(name)
        return topic is not None and bool(topic.waiters)

    @contextmanager
    def stream(self, ticket: WatchTicket) -> Iterator[Stream]:
        """A place among the streams of the ticket's name."""
        topic = self._topic(ticket.name)
        stream = Stream(ticket)
        topic.streams.add(stream)
        # What changed between the view's reading and this line woke nobody.
        topic.wake()
        if self.stopping.is_set():
            stream.end(sse.bye("shutdown"))
        try:
            yield stream
        finally:
            topic.streams.discard(stream)
            self._leave(topic)

    @contextmanager
    def queue(self, ticket: WaitTicket) -> Iterator[Waiter]:
        """A place at the end of the queue for the ticket's name."""
        topic = self._topic(ticket.name)
        waiter = Waiter()
        topic.waiters.append(waiter)
        self.expect(ticket)
        if topic.waiters[0] is waiter:
            waiter.turn.set()
        try:
            yield waiter
        finally:
            topic.waiters.remove(waiter)
            # It may have been woken and not have tried; whoever is first now does.
            topic.wake()
            self._leave(topic)

    def expect(self, ticket: WaitTicket) -> None:
        """Look at the ticket's name again when its lease is over."""
        topic = self._topic(ticket.name)
        topic.revision = ticket.revision
        topic.expect(ticket.remaining)

    def _changed(self, space: str, name: str, **_: Any) -> None:
        self._hints.tell((space, name))
        self.hear([(space, name)])

    def _wake(self, names: list[Name]) -> None:
        for name in names:
            if topic := self._topics.get(name):
                topic.wake()

    def _topic(self, name: Name) -> Topic:
        if name not in self._topics:
            assert self._on_thread is not None, "the hub was not started"
            self._topics[name] = Topic(name, self._on_thread)
        return self._topics[name]

    def _leave(self, topic: Topic) -> None:
        if topic.is_idle and self._topics.get(topic.name) is topic:
            topic.close()
            del self._topics[topic.name]

    async def _tick(self) -> None:
        while True:
            await asyncio.sleep(TICK_SECONDS)
            self._keep_alive()
            try:
                await self._reconcile()
            except Unavailable as error:
                log.info("watches_wait_for_storage", cause=error.details)

    def _keep_alive(self) -> None:
        now = monotonic()
        for topic in list(self._topics.values()):
            for stream in list(topic.streams):
                if now - stream.born_at >= settings.STREAM_SECONDS:
                    stream.end(sse.bye("max_age"))
                elif now - stream.fed_at >= KEEPALIVE_SECONDS:
                    stream.feed(sse.KEEPALIVE)

    async def _reconcile(self) -> None:
        """Wake the topics whose rows have moved on without a hint, asking for all of a space at once."""
        assert self._on_thread is not None
        by_space: dict[str, list[str]] = defaultdict(list)
        for space, name in self._topics:
            by_space[space].append(name)
        for space, names in by_space.items():
            for name, revision in (await self._on_thread(revisions, space, names)).items():
                topic = self._topics.get((space, name))
                if topic and topic.revision != revision:
                    topic.wake()


hub = Hub()
