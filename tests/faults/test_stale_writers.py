"""A leader that was paused writes on with its old term (I6): only the resource can refuse it."""

from __future__ import annotations

import time
from uuid import uuid4

import pytest

from tests.history import History
from tests.http import Client
from tests.invariants import violations
from tests.players import HttpPlayer, overrun
from tests.processes import Web

pytestmark = pytest.mark.usefixtures("database")

ROUNDS = 20


class Resource:
    """Takes writes that carry a term; a fenced one stores the highest with the write."""

    def __init__(self, *, fenced: bool) -> None:
        self.fenced, self.highest = fenced, 0

    def write(self, term: int) -> bool:
        if self.fenced and term < self.highest:
            return False
        self.highest = max(self.highest, term)
        return True


def played(webs: list[Web], resource: Resource) -> History:
    """In each round a leader falls asleep, another one leads and writes, and the first wakes up and writes."""
    history = History()
    room = f"room-{uuid4().hex}"
    with webs[0].client() as one, webs[1].client() as two:
        players = [HttpPlayer(history, "atlas", one), HttpPlayer(history, "borea", two)]
        sleeper: tuple[HttpPlayer, int] | None = None
        for number in range(ROUNDS):
            player = players[number % 2]
            term = leads(player, room)
            write(player, room, term, resource)
            if sleeper:
                write(*sleeper[:1], room, sleeper[1], resource)
                assert superseded(player.http, room, sleeper[1]) == term
            sleeper = (player, term)
            overrun(history, room)
    return history


def leads(player: HttpPlayer, room: str) -> int:
    answer = player.campaign(room)
    assert answer is not None
    assert answer.json()["status"] == "leader"
    term: int = answer.json()["leader"]["term"]
    return term


def write(player: HttpPlayer, room: str, term: int, resource: Resource) -> None:
    called = time.monotonic()
    player.note("write", room, called, "ok" if resource.write(term) else "refused", term=term)


def superseded(client: Client, room: str, term: int) -> int:
    """Asking about the old term tells which one leads now."""
    answer = client.get(f"/elections/{room}/terms/{term}").json()
    assert answer["status"] == "superseded"
    current: int = answer["current_term"]
    return current


def test_a_resource_that_stores_the_highest_term_takes_no_stale_write(two_webs: list[Web]) -> None:
    history = played(two_webs, Resource(fenced=True))
    assert violations(history) == []
    assert history.count("write", "refused") == ROUNDS - 1


def test_an_unfenced_twin_shows_the_stale_writes(two_webs: list[Web]) -> None:
    breaches = violations(played(two_webs, Resource(fenced=False)))
    assert len([breach for breach in breaches if breach.startswith("I6")]) >= ROUNDS - 1
