"""A crowd waits for a thread in order and not for long, and never in the way of a holder."""

from __future__ import annotations

import json
import select
import threading
import time
from collections.abc import Iterator
from contextlib import ExitStack, contextmanager
from contextvars import ContextVar

import pytest

from octostore.server import lanes
from tests.server.service import wait_until
from tests.server.serving import Serving, serving
from tests.server.wire import Wire

# What is shown here does not depend on the database.
pytestmark = pytest.mark.only("sqlite")


@contextmanager
def saturated(server: Serving, *, threads: int = 2) -> Iterator[None]:
    """Every working thread is held until the end."""
    with ExitStack() as stack:
        for number in range(threads):
            stack.enter_context(server.connect()).send(f"GET /block/{number} HTTP/1.1\r\nHost: x\r\n\r\n".encode())
        for _ in range(threads):
            assert server.stage.blocked.acquire(timeout=5)
        yield
        server.stage.let_go.set()


def line_up(server: Serving, wire: Wire, request: str) -> None:
    """Ask, and return once that waits for a thread, behind all who asked before."""
    lane: lanes.Lane = server.server.config.app.work  # type: ignore[union-attr]

    def waiting() -> int:
        return sum(map(len, lane._waiting.values()))

    ahead = waiting()
    wire.send(f"{request} HTTP/1.1\r\nHost: x\r\n\r\n".encode())
    assert wait_until(lambda: waiting() > ahead)


class TestKeeping:
    def test_holders_pass_a_crowd(self) -> None:
        with serving() as server, saturated(server), server.connect() as wire:
            for verb in ("renew", "resign", "release", "keepalive"):
                assert wire.get(f"/elections/x/{verb}", method="POST").status == 200

    def test_only_what_keeps_passes(self) -> None:
        with serving(wait_seconds=0.2) as server, saturated(server), server.connect() as wire:
            for method, path in (("POST", "/campaign"), ("GET", "/renew"), ("POST", "/renew/x"), ("POST", "/xrenew")):
                assert wire.get(path, method=method).status == 503

    def test_holders_use_every_thread(self) -> None:
        with serving(threads=2, keep_threads=1) as server, ExitStack() as stack:
            for number in range(3):
                wire = stack.enter_context(server.connect())
                wire.send(f"POST /block/{number}/renew HTTP/1.1\r\nHost: x\r\n\r\n".encode())
            for _ in range(3):
                assert server.stage.blocked.acquire(timeout=5)
            server.stage.let_go.set()

    def test_holders_go_first_but_leave_turns_to_the_rest(self) -> None:
        with serving(threads=1, keep_threads=1) as server, ExitStack() as stack:
            with saturated(server, threads=1), server.connect() as holder:
                holder.send(b"POST /block/renew HTTP/1.1\r\nHost: x\r\n\r\n")
                assert server.stage.blocked.acquire(timeout=5)
                wires = [stack.enter_context(server.connect()) for _ in range(10)]
                for number, wire in enumerate(wires):
                    target = f"GET /{number}" if number < 2 else f"POST /{number}/renew"
                    line_up(server, wire, target)
                server.stage.let_go.set()
                for wire in wires:
                    wire.response()
            order = server.stage.calls[2:]
            assert set(order) == {"/0", "/1", *(f"/{number}/renew" for number in range(2, 10))}
            assert order.index("/2/renew") < order.index("/0") <= 4
            assert order.index("/1") > order.index("/0")

    def test_health_is_told_however_busy_the_rest_is(self) -> None:
        with serving() as server, saturated(server), server.connect() as wire:
            assert wire.get("/health").status == 200


class TestWaiting:
    def test_waits_for_a_thread_no_longer_than_it_may(self) -> None:
        with serving(wait_seconds=0.3) as server, saturated(server), server.connect() as wire:
            began = time.monotonic()
            response = wire.get("/late")
            assert 0.25 < time.monotonic() - began < 1
            assert (response.status, json.loads(response.body)) == (503, {"refusal": "overloaded"})

    def test_connection_lives_on_after_a_refusal(self) -> None:
        with serving(wait_seconds=0.2) as server, server.connect() as wire:
            with saturated(server):
                assert wire.get("/late").status == 503
            assert wire.get("/later").status == 200

    def test_longest_waiting_goes_first(self) -> None:
        with serving(threads=1) as server, ExitStack() as stack:
            with saturated(server, threads=1):
                wires = [stack.enter_context(server.connect()) for _ in range(20)]
                for number, wire in enumerate(wires):
                    line_up(server, wire, f"GET /{number}")
            for wire in wires:
                wire.response()
            assert server.stage.calls[1:] == [f"/{number}" for number in range(20)]

    def test_queue_is_bounded(self) -> None:
        crowd = lanes.QUEUED_PER_THREAD + 20
        with serving(threads=1, wait_seconds=30) as server, saturated(server, threads=1), ExitStack() as stack:
            wires = [stack.enter_context(server.connect()) for _ in range(crowd)]
            for wire in wires:
                wire.send(b"GET /one HTTP/1.1\r\nHost: x\r\n\r\n")
            assert _answered(wires, at_least=20) == 20


class TestThreads:
    def test_nothing_of_one_request_reaches_the_next(self) -> None:
        left_behind: ContextVar[str] = ContextVar("left_behind", default="")
        seen: list[str] = []

        def application(environ: dict[str, object], start_response: object) -> list[bytes]:
            seen.append(left_behind.get())
            left_behind.set("mine")
            start_response("204 No Content", [])  # type: ignore[operator]
            return []

        with serving(threads=1) as server, server.connect() as wire:
            server.server.config.app.application = application  # type: ignore[union-attr]
            wire.get("/")
            wire.get("/")
        assert seen == ["", ""]

    def test_number_of_threads_is_fixed(self) -> None:
        with serving(threads=3, keep_threads=1) as server, ExitStack() as stack:
            before = threading.active_count()
            for _ in range(50):
                stack.enter_context(server.connect()).send(b"GET /block HTTP/1.1\r\nHost: x\r\n\r\n")
            for _ in range(3):
                assert server.stage.blocked.acquire(timeout=5)
            assert not server.stage.blocked.acquire(timeout=0.2)
            assert threading.active_count() - before <= 3
            server.stage.let_go.set()


def _answered(wires: list[Wire], *, at_least: int) -> int:
    """How many have an answer, a moment after `at_least` have one."""
    deadline = time.monotonic() + 5
    while len(select.select(wires, [], [], 0)[0]) < at_least and time.monotonic() < deadline:
        time.sleep(0.01)
    time.sleep(0.2)
    return len(select.select(wires, [], [], 0)[0])
