"""Streams and waits of one process: a change is read once for all of them, and nothing that ended is kept."""

from __future__ import annotations

import asyncio
import time
from collections.abc import Callable, Coroutine
from contextlib import ExitStack
from datetime import timedelta
from typing import Any

import pytest
from django.db import connections

from elections.watch import RoomFrames
from octostore.leases import engine
from octostore.leases.watching import look
from octostore.lib.errors import Unavailable
from octostore.live import hub as hubs
from octostore.live import streams
from octostore.live.hub import Hub
from octostore.live.streams import Stream
from octostore.live.tickets import WaitTicket, WatchTicket
from tests.players import SPACE

pytestmark = pytest.mark.usefixtures("database")

ROOM = "hub-room"


class Frames(RoomFrames):
    """A room's frames, counted."""

    encoded = 0

    def event(self, event: Any) -> bytes:
        Frames.encoded += 1
        return super().event(event)


class Bench:
    """A hub on the running loop, whose readings are counted and may be held up."""

    def __init__(self) -> None:
        self.hub = Hub()
        self.readings: list[str] = []
        self.held = asyncio.Event()
        self.held.set()
        self.fails = 0
        self.cuts = 0

    async def on_thread(self, call: Callable[..., Any], *arguments: object) -> Any:
        self.readings.append(call.__name__)
        await self.held.wait()
        if self.fails and call is look:
            self.fails -= 1
            raise Unavailable
        return await asyncio.to_thread(closing, call, *arguments)

    async def ticket(self, name: str = ROOM) -> WatchTicket:
        seen = await asyncio.to_thread(closing, look, SPACE, name, None)
        frames = Frames(name)
        return WatchTicket(
            name=(SPACE, name),
            encoder=frames,
            opening=frames.state(seen.state, with_id=True),
            state=seen.state,
            give_back=lambda: None,
        )

    async def open(self, stack: ExitStack, ticket: WatchTicket) -> Stream:
        stream: Stream = stack.enter_context(self.hub.stream(ticket, self._cut))
        assert b"event: state" in await stream.take()
        return stream

    async def watch(self, stack: ExitStack, *, name: str = ROOM) -> Stream:
        return await self.open(stack, await self.ticket(name))

    def _cut(self) -> None:
        self.cuts += 1


def closing(call: Callable[..., Any], *arguments: Any, **named: Any) -> Any:
    try:
        return call(*arguments, **named)
    finally:
        connections.close_all()


async def acquire(name: str = ROOM) -> Any:
    return await asyncio.to_thread(closing, engine.acquire, SPACE, name, holder="atlas", ttl=timedelta(seconds=30))


async def release(granted: Any, name: str = ROOM) -> None:
    await asyncio.to_thread(closing, engine.release, SPACE, name, capability=granted.capability)


def play(scene: Callable[[Bench], Coroutine[Any, Any, None]]) -> None:
    async def run() -> None:
        bench = Bench()
        bench.hub.start(bench.on_thread)
        try:
            await scene(bench)
        finally:
            bench.held.set()
            bench.hub.stop()
            await asyncio.sleep(0)

    asyncio.run(run())


async def quiet(bench: Bench) -> None:
    """Until no reading has begun for a moment."""
    count = -1
    while count != len(bench.readings):
        count = len(bench.readings)
        await asyncio.sleep(0.1)


class TestStreams:
    def test_change_is_read_and_encoded_once_for_all_of_them(self) -> None:
        async def scene(bench: Bench) -> None:
            with ExitStack() as stack:
                watching = [await bench.watch(stack) for _ in range(50)]
                await quiet(bench)
                bench.readings.clear()
                Frames.encoded = 0
                await acquire()
                pieces = {await stream.take() for stream in watching}
                assert len(pieces) == 1
                assert bench.readings.count("look") == 1
                assert Frames.encoded == 1

        play(scene)

    def test_changes_during_a_reading_are_one_more_reading(self) -> None:
        async def scene(bench: Bench) -> None:
            with ExitStack() as stack:
                stream = await bench.watch(stack)
                await quiet(bench)
                bench.readings.clear()
                bench.held.clear()
                for _ in range(5):
                    await release(await acquire())
                bench.held.set()
                told = b""
                while told.count(b"event: state") < 10:
                    told += await stream.take()
                assert bench.readings.count("look") <= 2
                assert told.count(b"\nid: ") == 10

        play(scene)

    def test_change_between_the_view_and_the_stream_is_told_at_once(self, monkeypatch: pytest.MonkeyPatch) -> None:
        monkeypatch.setattr(hubs, "TICK_SECONDS", 60)

        async def scene(bench: Bench) -> None:
            ticket = await bench.ticket()
            await acquire()
            with ExitStack() as stack:
                stream = await bench.open(stack, ticket)
                async with asyncio.timeout(5):
                    assert b'"leader"' in await stream.take()

        play(scene)

    def test_storage_that_fails_is_asked_again(self) -> None:
        async def scene(bench: Bench) -> None:
            with ExitStack() as stack:
                stream = await bench.watch(stack)
                await quiet(bench)
                bench.fails = 2
                await acquire()
                async with asyncio.timeout(5):
                    assert b'"leader"' in await stream.take()
                assert bench.fails == 0

        play(scene)

    def test_reader_that_lags_is_cut(self, monkeypatch: pytest.MonkeyPatch) -> None:
        monkeypatch.setattr(streams, "FRAMES_MAX", 3)

        async def scene(bench: Bench) -> None:
            with ExitStack() as stack:
                lagging, reading = await bench.watch(stack), await bench.watch(stack)
                for _ in range(3):
                    granted = await acquire()
                    await reading.take()
                    await release(granted)
                    await reading.take()
                assert bench.cuts == 1
                assert (lagging.is_over, reading.is_over) == (True, False)

        play(scene)

    def test_stuck_connection_is_cut(self, monkeypatch: pytest.MonkeyPatch) -> None:
        monkeypatch.setattr(hubs, "STUCK_SECONDS", 0.5)
        monkeypatch.setattr(hubs, "TICK_SECONDS", 0.1)

        async def scene(bench: Bench) -> None:
            with ExitStack() as stack:
                await bench.watch(stack)
                async with asyncio.timeout(5):
                    while not bench.cuts:
                        await asyncio.sleep(0.05)

        play(scene)

    def test_silence_is_broken(self, monkeypatch: pytest.MonkeyPatch) -> None:
        monkeypatch.setattr(streams, "KEEPALIVE_SECONDS", 0.3)
        monkeypatch.setattr(hubs, "TICK_SECONDS", 0.1)

        async def scene(bench: Bench) -> None:
            with ExitStack() as stack:
                stream = await bench.watch(stack)
                for _ in range(3):
                    assert await stream.take() == b": keepalive\n\n"

        play(scene)


class TestWhatEnded:
    def test_is_not_kept(self) -> None:
        async def scene(bench: Bench) -> None:
            for number in range(20):
                name = f"{ROOM}-{number}"
                await acquire(name)
                with ExitStack() as stack:
                    await bench.watch(stack, name=name)
                    await bench.watch(stack, name=name)
                    with bench.hub.queue(wait(name)):
                        assert bench.hub.is_awaited((SPACE, name))
            await quiet(bench)
            assert not bench.hub._topics

        play(scene)

    def test_hub_can_start_again(self) -> None:
        async def scene(bench: Bench) -> None:
            bench.hub.stop()
            assert not bench.hub.is_running
            bench.hub.start(bench.on_thread)
            with ExitStack() as stack:
                stream = await bench.watch(stack)
                await acquire()
                assert b'"leader"' in await stream.take()

        play(scene)


class TestQueue:
    def test_stands_in_the_order_of_arrival_and_only_its_head_tries(self) -> None:
        async def scene(bench: Bench) -> None:
            with ExitStack() as stack:
                second = stack.enter_context(bench.hub.queue(wait(since=2)))
                third = stack.enter_context(bench.hub.queue(wait(since=3)))
                assert (second.turn.is_set(), third.turn.is_set()) == (True, False)
                second.turn.clear()
                with bench.hub.queue(wait(since=1)) as first:
                    assert first.turn.is_set()
                    bench.hub.hear([(SPACE, ROOM)])
                    await asyncio.sleep(0.05)
                    assert (second.turn.is_set(), third.turn.is_set()) == (False, False)
                assert (second.turn.is_set(), third.turn.is_set()) == (True, False)

        play(scene)

    def test_head_is_called_when_the_lease_it_read_of_is_over(self) -> None:
        async def scene(bench: Bench) -> None:
            await asyncio.to_thread(
                closing, engine.acquire, SPACE, ROOM, holder="atlas", ttl=timedelta(milliseconds=500)
            )
            seen = await asyncio.to_thread(closing, look, SPACE, ROOM, None)
            with bench.hub.queue(wait()) as waiter:
                waiter.turn.clear()
                began = time.monotonic()
                bench.hub.tried((SPACE, ROOM), seen.state)
                async with asyncio.timeout(5):
                    await waiter.turn.wait()
                assert time.monotonic() - began > 0.2

        play(scene)


def wait(name: str = ROOM, *, since: float = 0) -> WaitTicket:
    return WaitTicket(name=(SPACE, name), since=since, until=since + 60, state=None, give_back=lambda: None)
