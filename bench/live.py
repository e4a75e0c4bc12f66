"""What streams and waits cost and how fast they hear, of one web process that holds many of them."""

from __future__ import annotations

import os
import time
from collections.abc import Iterator
from contextlib import ExitStack

import psutil

from bench.figures import Figures, summarise
from tests.processes import Web
from tests.watch.crowd import Caller, Crowd
from tests.watch.waiter import Waiter

HEADER = "| database | open at once | what | p50 · p99 ms | KiB each |"
RULE = "|---|---:|---|---:|---:|"
CHANGES = 200
WARMING_UP = 200
# Far enough for the order of sending to be the order of arrival.
APART_SECONDS = 0.003


def lines(web: Web, database: str, *, streams: int, waiters: int) -> Iterator[str]:
    """One line of the table for each of the two."""
    room = f"bench-live-{os.getpid()}"
    if streams:
        heard, kib_each = _streams(web, room, streams)
        what = f"{streams:,} streams | a change reaches the last"
        yield f"| {database} | {what} | {heard.p50_ms:.1f} · {heard.p99_ms:.1f} | {kib_each:.1f} |"
    if waiters:
        won = _waits(web, f"{room}-waits", waiters)
        what = f"{waiters:,} waits for one room | a release hands it over"
        yield f"| {database} | {what} | {won.p50_ms:.1f} · {won.p99_ms:.1f} | |"


def _streams(web: Web, room: str, how_many: int) -> tuple[Figures, float]:
    """From sending a campaign or a resignation to the last who hears of it; and the memory of a stream."""
    memory = psutil.Process(web.pid).memory_info
    with Crowd(web.port, [room], WARMING_UP):
        pass
    time.sleep(1)
    before = memory().rss
    with Crowd(web.port, [room], how_many) as crowd, Caller(web.port, room) as caller:
        kib_each = (memory().rss - before) / how_many / 1024
        return _middle([caller.change_reaches_all(crowd) for _ in range(CHANGES)]), kib_each


def _waits(web: Web, room: str, how_many: int) -> Figures:
    """From sending a resignation to the answer of the next who waits."""
    took = []
    with ExitStack() as stack:
        client = stack.enter_context(web.client())
        leader = client.campaign(room, "leader", ttl_seconds=300).json()
        waiters = []
        for _ in range(how_many):
            waiters.append(stack.enter_context(Waiter(web.port, room, wait_seconds=60)))
            time.sleep(APART_SECONDS)
        assert waiters[-1].is_waiting(1)
        for waiter in waiters:
            began = time.monotonic()
            client.resign(room, leader["leader_token"])
            answer = waiter.answer()
            took.append(answer.at - began)
            leader = answer.body
    return _middle(took)


def _middle(took: list[float]) -> Figures:
    return summarise([(0.0, seconds) for seconds in took], 0.0, float("inf"))
