"""Hard moments in the life of a name, each played against the engine and written down.

The engine must come out of each with a history that breaks no invariant; with a fault planted in
it at least one of them must not (`test_planted`).
"""

from __future__ import annotations

import random
import time
from collections.abc import Callable
from functools import partial
from itertools import count
from uuid import uuid4

from django.db import connections

from octostore.leases import reaper
from octostore.leases.models import Lease
from tests.faults.blockers import blocked
from tests.history import History
from tests.players import SPACE, EnginePlayer, collect_events, now_ms, overrun
from tests.races import beside, race

Scenario = Callable[[History], None]

ENOUGH = 20
WHILE_SECONDS = 1.5
PATIENCE_SECONDS = 20


def late_renewal(history: History) -> None:
    """A holder renews after its deadline, with nobody else about, and after another took over."""
    name, holder, rival = _cast(history)
    granted = holder.acquire(name)
    assert granted
    overrun(history, name)
    holder.renew(name, granted)
    taken = rival.acquire(name)
    holder.renew(name, granted)
    if taken:
        rival.renew(name, taken)
    holder.inspect(name)


def late_release(history: History) -> None:
    """A holder that overslept releases, twice, what another holds by then."""
    name, holder, rival = _cast(history)
    granted = holder.acquire(name)
    assert granted
    overrun(history, name)
    rival.acquire(name)
    holder.release(name, granted)
    rival.inspect(name)
    holder.acquire(name)
    holder.release(name, granted)
    rival.inspect(name)


def held_past_its_deadline(kind: str) -> Scenario:
    """The row is held from before the deadline until after it, with renewals and campaigns waiting."""

    def play(history: History) -> None:
        name, holder, _ = _cast(history)
        granted = holder.acquire(name)
        assert granted
        called = time.monotonic()
        deadline = now_ms() + 400
        Lease.objects.filter(space=SPACE, name=name).update(expires_at=deadline)
        renewers = [EnginePlayer(history, f"renewer {number}") for number in range(3)]
        takers = [EnginePlayer(history, f"taker {number}") for number in range(6)]

        def hold() -> None:
            with blocked(history, name, kind):
                locked.append(True)
                while now_ms() <= deadline:
                    time.sleep(0.01)
                holder.note("overrun", name, called, "ok", term=granted.hold.term)
                # Long enough for takers to wait behind it, and for a stale clock to show.
                time.sleep(0.3)

        def take(player: EnginePlayer) -> None:
            while now_ms() <= deadline:
                time.sleep(0.01)
            player.acquire(name)

        def renew(player: EnginePlayer) -> None:
            while not locked:
                time.sleep(0.001)
            player.renew(name, granted)

        locked: list[bool] = []
        calls: list[Callable[[], None]] = [
            hold,
            *(partial(renew, p) for p in renewers),
            *(partial(take, p) for p in takers),
        ]
        race(calls)

    return play


def swept_while_taken(history: History) -> None:
    """Three sweepers in tight loops, and clients that take, keep and lose names with short deadlines."""
    names = [f"name-{uuid4().hex}" for _ in range(3)]
    goes_on = _until(lambda: min(history.count("campaign", "ok"), history.count("renew", "ok")) > ENOUGH)

    def sweep() -> None:
        while goes_on():
            reaper.sweep()

    def play(player: EnginePlayer) -> None:
        while goes_on():
            name = random.choice(names)
            if granted := player.acquire(name, ttl=0.05):
                player.renew(name, granted, ttl=0.05)
                time.sleep(random.choice((0, 0.03, 0.06)))
                player.renew(name, granted, ttl=0.05)

    players = [EnginePlayer(history, f"player {number}") for number in range(5)]
    calls: list[Callable[[], None]] = [sweep, sweep, sweep, *(partial(play, p) for p in players)]
    race(calls)


def mixed_fortunes(history: History) -> None:
    """Many clients do everything at once to few names whose deadlines are moved under them."""
    names = [f"name-{uuid4().hex}" for _ in range(3)]
    goes_on = _until(lambda: min(history.count("campaign", "ok"), history.count("campaign", "lost")) > ENOUGH)
    attempts = count()

    def play(player: EnginePlayer) -> None:
        while goes_on():
            name = random.choice(names)
            attempt = f"{player.client} attempt {next(attempts)}"
            granted = player.acquire(name, attempt=attempt)
            player.inspect(name)
            if granted:
                player.acquire(name, attempt=attempt)
                player.renew(name, granted)
                if random.random() < 0.5:
                    player.release(name, granted)
                else:
                    overrun(history, name)
                player.renew(name, granted)
                player.release(name, granted)

    players = [EnginePlayer(history, f"player {number}") for number in range(8)]
    with beside(reaper.sweep):
        race([partial(play, p) for p in players])


def played(scenario: Scenario) -> History:
    """The scenario's history, with the events it left in the database."""
    history = History()
    scenario(history)
    collect_events(history)
    connections.close_all()
    return history


def _cast(history: History) -> tuple[str, EnginePlayer, EnginePlayer]:
    return f"name-{uuid4().hex}", EnginePlayer(history, "holder"), EnginePlayer(history, "rival")


def _until(enough: Callable[[], bool]) -> Callable[[], bool]:
    """Whether to go on: for a while, and on a busy machine until enough has happened."""
    began = time.monotonic()

    def goes_on() -> bool:
        passed = time.monotonic() - began
        return passed < WHILE_SECONDS or (passed < PATIENCE_SECONDS and not enough())

    return goes_on
