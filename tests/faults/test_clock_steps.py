"""The wall clock of web processes steps (G3; cases: clock steps).

On PostgreSQL it does not matter at all. On SQLite a step back never gives a second holder and never
stretches a lease; a step forward may end leases early, but terms still rise and nothing ended revives.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Sequence
from concurrent.futures import ThreadPoolExecutor
from contextlib import ExitStack
from pathlib import Path
from threading import Event
from uuid import uuid4

import pytest

from tests.conftest import VENDOR
from tests.history import History
from tests.invariants import violations
from tests.players import HttpPlayer, collect_events
from tests.processes import WallClock, Web

TTL = 1
HOUR = 3600.0
# What a step forward may break on SQLite: leases end early, and their holders believe on.
FORWARD = ("I1: client", "I3", "I5")


@pytest.fixture
def webs(start_web: Callable[..., Web], tmp_path: Path) -> list[Web]:
    """Two processes under clocks of their own."""
    clocks = [WallClock(tmp_path / f"clock-{number}") for number in range(2)]
    return [start_web(clock=clock, OCTOSTORE_ELECTION_TTL_MIN_SECONDS="1") for clock in clocks]


def played(webs: list[Web], steps: Sequence[tuple[float, float]]) -> History:
    """Clients lead, renew, fall silent and follow at both processes while the first one's clock steps.

    `steps` are (seconds off real time, how long to stay there).
    """
    history, over = History(), Event()
    rooms = [f"room-{uuid4().hex}" for _ in range(2)]

    def play(player: HttpPlayer, other: HttpPlayer, room: str) -> None:
        while not over.is_set():
            answer = player.campaign(room, ttl=TTL)
            assert answer is not None
            body = answer.json()
            assert 0 < body.get("safe_for_ms", 1) <= TTL * 1000
            if body["status"] == "leader":
                for _ in range(3):
                    other.renew(room, body["leader_token"], term=body["leader"]["term"], ttl=TTL)
                    player.status(room)
                    time.sleep(0.1)
            time.sleep(0.05)

    with ThreadPoolExecutor(6) as pool, ExitStack() as clients:
        playing = []
        for number in range(6):
            players = [HttpPlayer(history, f"client-{number}", clients.enter_context(web.client())) for web in webs]
            here, there = players if number % 2 else players[::-1]
            playing.append(pool.submit(play, here, there, rooms[number % len(rooms)]))
        for seconds, stay in steps:
            assert webs[0].clock is not None
            webs[0].clock.step_to(seconds)
            time.sleep(stay)
        over.set()
        for player in playing:
            player.result()
    collect_events(history)
    assert history.count("campaign", "ok") >= 4
    return history


def test_a_step_back_neither_doubles_nor_stretches(webs: list[Web]) -> None:
    history = played(webs, [(0, 1), (-HOUR, 4), (0, 0.5)])
    assert violations(history) == []


def test_processes_ten_minutes_apart_agree(webs: list[Web]) -> None:
    assert webs[1].clock is not None
    webs[1].clock.step_to(600)
    with webs[1].client() as client:
        client.campaign(f"room-{uuid4().hex}", "first")
    strobe = [(offset, 0.1) for offset in (-5.0, 5.0) * 20]
    history = played(webs, [(0, 1), *strobe])
    assert violations(history) == []


def test_a_step_forward_makes_nothing_immortal(webs: list[Web]) -> None:
    history = played(webs, [(0, 1), (HOUR, 3), (0, 3)])
    tolerated = FORWARD if VENDOR == "sqlite" else ()
    assert [breach for breach in violations(history) if not breach.startswith(tolerated or ("nothing",))] == []
