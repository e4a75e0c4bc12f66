"""Two hundred candidates wait for one room: it changes hands quickly and in order, and nobody else notices."""

from __future__ import annotations

import random
import socket
import struct
import threading
import time
from collections.abc import Iterator
from contextlib import ExitStack, contextmanager

import pytest

from tests.elections.rooms import win
from tests.http import Client
from tests.measures import best, percentile
from tests.processes import Web
from tests.watch.deaf import deafen
from tests.watch.waiter import Waiter

pytestmark = pytest.mark.alone

WAITERS = 200
HANDOVER_SECONDS = 0.1
RENEWAL_SECONDS = 0.25
GHOST_SECONDS = 15
# Far enough apart for the order of sending to be the order of arrival.
APART_SECONDS = 0.003


class Queue:
    """Waiters of a room that is led, in the order in which they came."""

    def __init__(self, client: Client, web: Web, room: str) -> None:
        self._client, self._web, self._room = client, web, room
        self._leader_token = ""
        self.waiters: list[Waiter] = []

    @contextmanager
    def __call__(self, how_many: int) -> Iterator[Queue]:
        self._leader_token = win(self._client, self._room, ttl_seconds=60)["leader_token"]
        with ExitStack() as stack:
            self.waiters = []
            for number in range(how_many):
                self.waiters.append(
                    stack.enter_context(Waiter(self._web.port, self._room, f"waiter-{number}", wait_seconds=60))
                )
                time.sleep(APART_SECONDS)
            assert self.waiters[-1].is_waiting(0.5)
            yield self
            self._client.resign(self._room, self._leader_token)

    def hand_over(self, *, seconds: float = 10) -> float:
        """Let the leader resign; how long it takes until the first of those who wait has its answer."""
        waiter = self.waiters.pop(0)
        began = time.monotonic()
        self._client.resign(self._room, self._leader_token)
        answer = waiter.answer(seconds)
        assert answer.told == (200, "leader"), answer
        self._leader_token = answer.body["leader_token"]
        return answer.at - began


@pytest.fixture
def queue(web: Web, room: str) -> Iterator[Queue]:
    with web.client() as client:
        yield Queue(client, web, room)


@contextmanager
def renewing(web: Web, room: str) -> Iterator[list[float]]:
    """Leaders elsewhere renew all the while, some fifty times a second; the seconds each renewal took."""
    over, took = threading.Event(), list[float]()
    with web.client() as client:
        tokens = [win(client, f"{room}-{number}")["leader_token"] for number in range(10)]

    def renew() -> None:
        with web.client() as leader:
            while not over.is_set():
                for number, leader_token in enumerate(tokens):
                    began = time.monotonic()
                    assert leader.renew(f"{room}-{number}", leader_token).status_code == 200
                    took.append(time.monotonic() - began)
                    over.wait(0.02)

    thread = threading.Thread(target=renew)
    thread.start()
    try:
        yield took
    finally:
        over.set()
        thread.join()


def test_release_hands_over_at_once_and_in_order_while_renewals_go_on(web: Web, queue: Queue, room: str) -> None:
    def p99() -> float:
        """Of handovers and of renewals, each as a share of what it may take; the worse."""
        with renewing(web, room) as took, queue(WAITERS):
            handovers = [queue.hand_over() for _ in range(WAITERS)]
        return max(percentile(handovers, 0.99) / HANDOVER_SECONDS, percentile(took, 0.99) / RENEWAL_SECONDS)

    assert best(p99, bound=1) <= 1


def test_killed_waiters_are_waited_for_by_nobody(queue: Queue) -> None:
    with queue(WAITERS):
        for ghost in random.sample(queue.waiters, WAITERS // 2):
            # As the kernel does for a process that was killed with something unread.
            ghost.socket.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, struct.pack("ii", 1, 0))
            ghost.close()
            queue.waiters.remove(ghost)
        gaps = [queue.hand_over() for _ in range(WAITERS // 2)]
    assert max(gaps) < 1


@pytest.mark.soak
def test_waiters_whose_machine_is_gone_are_waited_for_a_short_term(queue: Queue) -> None:
    """Nothing tells of them before their answer goes unacknowledged."""
    with queue(10):
        for number in range(5):
            deafen(queue.waiters.pop(number).socket)
        gaps = [queue.hand_over(seconds=60) for _ in range(5)]
    assert max(gaps) < GHOST_SECONDS + 1
