"""Many campaigns at the instant of expiry, over two processes: one leader each time (G1, G2, I10)."""

from __future__ import annotations

import random
from functools import partial
from itertools import cycle
from uuid import uuid4

import pytest

from tests.history import History
from tests.invariants import violations
from tests.players import HttpPlayer, collect_events, overrun
from tests.processes import Web
from tests.races import race

pytestmark = pytest.mark.usefixtures("database")


def rounds(webs: list[Web], *, number: int, campaigners: int, window_ms: int = 40) -> History:
    """In each round the leader's deadline passes within `window_ms`, and all campaign until one has won."""
    history = History()
    room = f"room-{uuid4().hex}"
    players = [
        HttpPlayer(history, f"candidate-{index}", web.client())
        for index, web in zip(range(campaigners), cycle(webs), strict=False)
    ]
    term = _campaign(players[0], room)
    for _ in range(number):
        overrun(history, room, in_ms=random.randrange(window_ms))
        term = _one_round(players, room, term)
    collect_events(history)
    for player in players:
        player.http.close()
    return history


def _one_round(players: list[HttpPlayer], room: str, last: int) -> int:
    """Everybody's next term, which must be the same one."""

    def until_over(player: HttpPlayer) -> int:
        while (term := _campaign(player, room)) == last:
            pass
        return term

    terms = set(race([partial(until_over, player) for player in players]))
    assert len(terms) == 1
    (term,) = terms
    assert term > last
    return term


def _campaign(player: HttpPlayer, room: str) -> int:
    """The term that leads by the answer to one campaign."""
    answer = player.campaign(room)
    assert answer is not None
    assert answer.status_code == 200, answer.text
    term: int = answer.json()["leader"]["term"]
    return term


def test_fifty_campaigns_at_the_instant_of_expiry_make_one_leader(two_webs: list[Web]) -> None:
    history = rounds(two_webs, number=20, campaigners=50)
    assert violations(history) == []
    assert history.count("campaign", "ok") == 21
    assert history.count("campaign", "unknown") == 0


def test_five_hundred_rounds_make_five_hundred_rising_terms(two_webs: list[Web]) -> None:
    history = rounds(two_webs, number=500, campaigners=6, window_ms=10)
    assert violations(history) == []
    assert history.count("campaign", "ok") == 501
    assert history.count("campaign", "unknown") == 0
    assert [event.kind for event in history.events] == ["acquired", *["expired", "acquired"] * 500]


@pytest.mark.soak
def test_five_hundred_rounds_of_fifty(two_webs: list[Web]) -> None:
    history = rounds(two_webs, number=500, campaigners=50)
    assert violations(history) == []
    assert history.count("campaign", "ok") == 501
