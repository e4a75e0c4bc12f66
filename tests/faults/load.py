"""Leaders that lead on, over HTTP, while something breaks under them."""

from __future__ import annotations

import time
from collections.abc import Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager
from itertools import cycle
from threading import Event
from uuid import uuid4

from tests.history import History
from tests.players import HttpPlayer
from tests.processes import Web

CONTENDED = "contended-room"


@contextmanager
def newcomers(web: Web, *, clients: int = 12) -> Iterator[History]:
    """Each client campaigns for one new room after another."""
    history, over = History(), Event()

    def play(player: HttpPlayer) -> None:
        with player.http:
            while not over.is_set():
                player.campaign(f"room-{uuid4().hex}")

    with ThreadPoolExecutor(clients) as pool:
        playing = [pool.submit(play, HttpPlayer(history, f"client-{n}", web.client())) for n in range(clients)]
        try:
            yield history
        finally:
            over.set()
        for player in playing:
            player.result()


@contextmanager
def load(webs: Sequence[Web], *, clients: int = 8, ttl: int = 30) -> Iterator[History]:
    """Each client leads a room of its own, renewing without pause, and all contend for one room.

    The history is complete when the block has ended.
    """
    history, over = History(), Event()
    with ThreadPoolExecutor(clients) as pool:
        playing = [
            pool.submit(_play, HttpPlayer(history, f"client-{number}", web.client()), over, ttl)
            for number, web in zip(range(clients), cycle(webs), strict=False)
        ]
        try:
            yield history
        finally:
            over.set()
        for player in playing:
            player.result()


def _play(player: HttpPlayer, over: Event, ttl: int) -> None:
    with player.http:
        _lead(player, over, ttl)


def _lead(player: HttpPlayer, over: Event, ttl: int) -> None:
    room = f"room-{uuid4().hex}"
    leads: dict[str, tuple[str, int]] = {}
    while not over.is_set():
        for name in (room, CONTENDED):
            if name in leads:
                capability, term = leads[name]
                answer = player.renew(name, capability, term=term, ttl=ttl)
                if answer is not None and answer.status_code == 404:
                    del leads[name]
            else:
                answer = player.campaign(name, ttl=ttl)
                if answer is not None and answer.status_code == 200 and answer.json()["status"] == "leader":
                    leads[name] = (answer.json()["leader_token"], answer.json()["leader"]["term"])
            if player.status(name) is None:
                # Its process is gone: leave the processor to those that remain.
                over.wait(0.1)
        if CONTENDED in leads and time.monotonic() % 1 < 0.3:
            capability, term = leads.pop(CONTENDED)
            player.resign(CONTENDED, capability, term=term)


def longest(history: History) -> float:
    """The longest time any caller waited for its answer, in seconds."""
    return max(operation.returned - operation.called for operation in history.operations)


def answered_since(history: History, since: float) -> int:
    """How many renewals, called after `since`, were answered with success."""
    return sum(op.verb == "renew" and op.outcome == "ok" and op.called > since for op in history.operations)


def wait_for_renewals(history: History, number: int, *, within: float) -> None:
    """Until `number` renewals called from now on succeeded; fails when that takes longer than `within` seconds."""
    since = time.monotonic()
    while answered_since(history, since) < number:
        assert time.monotonic() < since + within, f"service did not return within {within} s"
        time.sleep(0.02)
