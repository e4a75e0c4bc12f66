"""A thousand streams of one process: what they cost, how fast they hear, and that they leave nothing behind."""

from __future__ import annotations

import os
import signal
import time
from collections.abc import Callable
from contextlib import ExitStack

import psutil
import pytest
from django.conf import settings
from django.db import connection

from tests.elections.rooms import instant, win
from tests.faults.blockers import standstill
from tests.measures import best, percentile
from tests.processes import Web
from tests.watch.conftest import CROWD, SHORT
from tests.watch.crowd import Caller, Crowd
from tests.watch.waiter import Waiter

pytestmark = pytest.mark.alone

STREAMS = 1000
KIB_EACH = 25
CHANGE_SECONDS = 0.1
EXPIRY_SECONDS = 0.25
STOP_SECONDS = 10
THREADS = settings.WEB_THREADS + settings.KEEP_THREADS + settings.LIVE_THREADS


@pytest.fixture
def fresh(start_web: Callable[..., Web]) -> Web:
    """A process of the test's own whose threads have all worked, so that what they keep open is open."""
    web = start_web(**CROWD, **SHORT)
    rooms = [f"warming-up-{number}" for number in range(THREADS)]
    with web.client() as client, Crowd(web.port, rooms, 10), ExitStack() as stack:
        tokens = [win(client, room)["leader_token"] for room in rooms]
        short = [f"{room}-short" for room in rooms[: 2 * settings.LIVE_THREADS]]
        stack.enter_context(Crowd(web.port, short, 1))
        for room in short:
            win(client, room, ttl_seconds=1)
        with standstill():
            # Candidates for all threads, leaders for those that are kept, and ends for those that look.
            candidates = [stack.enter_context(Waiter(web.port, f"{room}-free", wait_seconds=0)) for room in rooms]
            leaders = [stack.enter_context(Caller(web.port, room)) for room in rooms]
            for leader, leader_token in zip(leaders, tokens, strict=True):
                leader.send("renew", leader_token=leader_token)
            time.sleep(1.5)
        for candidate, leader in zip(candidates, leaders, strict=True):
            candidate.answer()
            leader.answer()
    settle(web)
    return web


def settle(web: Web) -> None:
    """Until it has noticed who closed."""
    deadline = time.monotonic() + 10
    while open_clients(web) and time.monotonic() < deadline:
        time.sleep(0.05)


def open_clients(web: Web) -> int:
    found = psutil.Process(web.pid).net_connections("tcp")
    return sum(one.laddr.port == web.port and one.status == psutil.CONN_ESTABLISHED for one in found)


def to_database(web: Web) -> int:
    """How many connections the process has to the database."""
    process = psutil.Process(web.pid)
    if connection.vendor == "sqlite":
        return sum(file.path == str(connection.settings_dict["NAME"]) for file in process.open_files())
    port = int(connection.settings_dict["PORT"])
    return sum(bool(one.raddr) and one.raddr.port == port for one in process.net_connections("tcp"))


class TestCost:
    def test_memory_threads_and_connections(self, fresh: Web, room: str) -> None:
        process = psutil.Process(fresh.pid)
        before = process.memory_info().rss
        with Crowd(fresh.port, [room], STREAMS):
            kib_each = (process.memory_info().rss - before) / STREAMS / 1024
            assert open_clients(fresh) >= STREAMS
            assert to_database(fresh) <= THREADS
            # The loop, uvloop's own pool, health, budgets.
            assert process.num_threads() <= THREADS + 12
        assert kib_each <= KIB_EACH

    @pytest.mark.parametrize("how_many", [pytest.param(1000), pytest.param(10_000, marks=pytest.mark.soak)])
    def test_opening_and_closing_leaves_nothing_behind(self, fresh: Web, room: str, how_many: int) -> None:
        process = psutil.Process(fresh.pid)

        def leaves_nothing() -> bool:
            descriptors, threads, memory = process.num_fds(), process.num_threads(), process.memory_info().rss
            for number in range(how_many // 200):
                with Crowd(fresh.port, [f"{room}-{number}-{one}" for one in range(20)], 10):
                    pass
            settle(fresh)
            return (
                process.num_fds() <= descriptors
                and process.num_threads() <= threads
                and process.memory_info().rss - memory < 200 * KIB_EACH * 1024
            )

        # A thread that works for the first time keeps a connection, once; what leaks does so each time.
        assert any(leaves_nothing() for _ in range(3))


class TestSpeed:
    def test_change_reaches_the_last(self, web: Web, room: str) -> None:
        with web.client() as client, Crowd(web.port, [room], STREAMS) as crowd, Caller(web.port, room) as caller:
            client.resign(room, win(client, room)["leader_token"])
            crowd.drain()

            def p99() -> float:
                return percentile([caller.change_reaches_all(crowd) for _ in range(100)], 0.99)

            assert best(p99, bound=CHANGE_SECONDS, attempts=5) <= CHANGE_SECONDS

    def test_expiry_is_told_in_time_without_a_sweeper(self, web: Web, room: str) -> None:
        rooms = [f"{room}-{number}" for number in range(100)]
        with web.client() as client, Crowd(web.port, rooms, STREAMS // len(rooms)) as crowd:

            def p99() -> float:
                crowd.drain()
                wall = time.time() - time.monotonic()
                deadlines = {one: instant(win(client, one, ttl_seconds=2)["leader"]["expires_at"]) for one in rooms}
                told = crowd.arrivals(b'"vacant"')
                return percentile(
                    [wall + at - deadlines[crowd.sockets[stream]] / 1000 for stream, at in told.items()], 0.99
                )

            assert best(p99, bound=EXPIRY_SECONDS) <= EXPIRY_SECONDS


class TestStop:
    def test_ends_with_all_of_them_open(self, start_web: Callable[..., Web], room: str) -> None:
        web = start_web(**CROWD)
        with Crowd(web.port, [room], STREAMS) as crowd:
            began = time.monotonic()
            os.kill(web.pid, signal.SIGTERM)
            assert max(crowd.arrivals(b"event: bye").values()) - began < STOP_SECONDS / 2
            web.stop()
            assert time.monotonic() - began < STOP_SECONDS
