"""All streams and waits of this process: hints come in, topics wake, the truth is read.

One hub for each process that serves them. Everything but `hear`, `is_running` and `is_awaited`
belongs to its event loop.
"""

from __future__ import annotations

import asyncio
from collections import defaultdict
from collections.abc import Callable, Iterable, Iterator
from contextlib import ExitStack, contextmanager, suppress
from functools import partial
from time import monotonic
from typing import Any

import structlog
from django.conf import settings
from django.db import DatabaseError

from octostore.leases.signals import lease_changed
from octostore.leases.watching import Position, State, positions
from octostore.lib.errors import Unavailable
from octostore.live import gauges, sse
from octostore.live.hints import Hints, Name
from octostore.live.pages import Audience, Hinting, PageStream
from octostore.live.streams import Reader, Stream
from octostore.live.tickets import PageTicket, StreamTicket, WaitTicket, WatchTicket
from octostore.live.topics import OnThread, Topic, Waiter
from octostore.teams.revocation import Right, still_valid

TICK_SECONDS = 1.0
# Changes of a whole team become one hint to its pages.
GATHER_SECONDS = 0.5
# A reader that takes nothing for this long is cut.
STUCK_SECONDS = 30.0
# The streams of who signed out, and a revoked key's streams and waits end within 15 s.
RECHECK_SECONDS = 5.0

log = structlog.get_logger(__name__)


class Hub:
    def __init__(self) -> None:
        self._topics: dict[Name, Topic] = {}
        self._loop: asyncio.AbstractEventLoop | None = None
        self._on_thread: OnThread | None = None
        self._hints = Hints(settings.REDIS_URL, self.hear)
        self._tasks: list[asyncio.Task[None]] = []
        self._streams: set[Stream] = set()
        self._audience = Audience()
        # Streams and waits that go on by somebody's right, and how each ends without it.
        self._guests: dict[Stream | Waiter, tuple[Right, Callable[[], None]]] = {}
        self.stopping = asyncio.Event()

    def start(self, on_thread: OnThread) -> None:
        """Begin, on the running loop."""
        self._loop = asyncio.get_running_loop()
        self._on_thread = on_thread
        self.stopping = asyncio.Event()
        # What is shared with other processes may still have the numbers of one that died under this one's id.
        gauges.streams.set(0)
        gauges.waits.set(0)
        # Several tasks: a storage that hangs must not silence the streams.
        works = (self._keep_alive, self._reconcile, self._gather, self._dismiss)
        self._tasks = [self._loop.create_task(work()) for work in works]
        self._hints.start()
        lease_changed.connect(self._changed)

    def stop(self) -> None:
        """Say farewell to every stream and end every wait; again is harmless."""
        if not self.is_running:
            return
        self.stopping.set()
        lease_changed.disconnect(self._changed)
        self._hints.stop()
        for task in self._tasks:
            task.cancel()
        for stream in self._streams:
            stream.end(sse.bye("shutdown"))

    def tell(self, name: Name) -> None:
        """Something about `name` changed here: let all processes know. Call it after the commit, from any thread."""
        self._hints.tell(name)
        self.hear([name])

    def hear(self, names: Iterable[Name]) -> None:
        """Wake the topics of these names; from any thread."""
        names = list(names)
        self._audience.note(space for space, _ in names)
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
        """Whether requests are queued here for `name`."""
        topic = self._topics.get(name)
        return topic is not None and bool(topic.waiters)

    @contextmanager
    def stream(self, ticket: StreamTicket, cut: Callable[[], None]) -> Iterator[Stream]:
        """A place among the streams of what the ticket names; `cut` closes the connection of one that lags."""
        with ExitStack() as stack:
            if isinstance(ticket, WatchTicket):
                stream = self._watch(stack, ticket, cut)
            else:
                stream = self._page(stack, ticket, cut)
            self._streams.add(stream)
            stack.callback(self._streams.discard, stream)
            stack.enter_context(gauges.streams.track_inprogress())
            if self.stopping.is_set():
                stream.end(sse.bye("shutdown"))
            yield stream

    def _watch(self, stack: ExitStack, ticket: WatchTicket, cut: Callable[[], None]) -> Stream:
        stream = Stream(ticket.opening, cut)
        stack.enter_context(self._guest(stream, ticket.principal, partial(stream.end, sse.bye("revoked"))))
        self._read(stack, ticket.name, Reader(stream, ticket.encoder, Position.of(ticket.state)))
        return stream

    def _page(self, stack: ExitStack, ticket: PageTicket, cut: Callable[[], None]) -> Stream:
        stream = PageStream(cut)
        stack.enter_context(self._guest(stream, ticket.visit, partial(stream.end, sse.bye("revoked"))))
        for name, topic in ticket.names.items():
            self._read(stack, name, Reader(stream, Hinting(topic), None))
        self._audience.join(stream, ticket.spaces)
        stack.callback(self._audience.leave, stream, ticket.spaces)
        return stream

    def _read(self, stack: ExitStack, name: Name, reader: Reader) -> None:
        topic = stack.enter_context(self._topic(name))
        topic.readers.add(reader)
        stack.callback(topic.readers.discard, reader)
        # What changed between the view's reading and this line woke nobody.
        topic.refresh()

    @contextmanager
    def queue(self, ticket: WaitTicket) -> Iterator[Waiter]:
        """A place in the queue for the ticket's name; who is first there tries at once."""
        waiter = Waiter(ticket.since)
        # Entering again, it is refused.
        with (
            self._topic(ticket.name) as topic,
            self._guest(waiter, ticket.principal, waiter.turn.set),
            gauges.waits.track_inprogress(),
        ):
            topic.join(waiter)
            try:
                yield waiter
            finally:
                topic.leave(waiter)

    def tried(self, name: Name, state: State | None) -> None:
        """The first in the queue for `name` waits on after reading `state`, or nothing: wake it when it should try."""
        self._topics[name].observe(state)

    @contextmanager
    def _topic(self, name: Name) -> Iterator[Topic]:
        assert self._on_thread is not None, "the hub was not started"
        topic = self._topics.get(name)
        if topic is None:
            topic = self._topics[name] = Topic(name, self._on_thread)
        try:
            yield topic
        finally:
            if topic.is_idle and self._topics.get(name) is topic:
                topic.close()
                del self._topics[name]

    @contextmanager
    def _guest(self, who: Stream | Waiter, right: Right | None, dismiss: Callable[[], None]) -> Iterator[None]:
        if right:
            self._guests[who] = right, dismiss
        try:
            yield
        finally:
            self._guests.pop(who, None)

    def _changed(self, space: str, name: str, **_: Any) -> None:
        self.tell((space, name))

    def _wake(self, names: list[Name]) -> None:
        for name in names:
            if topic := self._topics.get(name):
                topic.wake()

    async def _keep_alive(self) -> None:
        """Speak on streams that were silent for long; end those that are stuck, or have lived long enough."""
        while True:
            await asyncio.sleep(TICK_SECONDS)
            now = monotonic()
            for stream in self._streams:
                if now - stream.sending_since >= STUCK_SECONDS:
                    stream.cut()
                elif now - stream.born_at >= settings.STREAM_SECONDS:
                    stream.end(sse.bye("max_age"))
                else:
                    stream.keep_alive(now)

    async def _gather(self) -> None:
        """Hint pages at what changed in whole spaces."""
        while True:
            await asyncio.sleep(GATHER_SECONDS)
            self._audience.tell()

    async def _reconcile(self) -> None:
        """Find what no hint told of, asking for all names of a space at once."""
        assert self._on_thread is not None
        while True:
            await asyncio.sleep(TICK_SECONDS)
            by_space: dict[str, list[str]] = defaultdict(list)
            for space, name in self._topics:
                by_space[space].append(name)
            try:
                for space, names in by_space.items():
                    found: dict[str, Position] = await self._on_thread(positions, space, names)
                    for name, position in found.items():
                        if topic := self._topics.get((space, name)):
                            topic.compare(position)
            except (Unavailable, DatabaseError) as error:
                log.info("watches_wait_for_storage", cause=type(error).__name__)

    async def _dismiss(self) -> None:
        """End what was begun with a key that is not what it was, or by a person who is not who they were."""
        assert self._on_thread is not None
        while True:
            await asyncio.sleep(RECHECK_SECONDS)
            asked = {right for right, _ in self._guests.values()}
            if not asked:
                continue
            try:
                gone = asked - await self._on_thread(still_valid, asked)
            except (Unavailable, DatabaseError) as error:
                log.info("keys_wait_for_storage", cause=type(error).__name__)
                continue
            for right, dismiss in list(self._guests.values()):
                if right in gone:
                    dismiss()


hub = Hub()
