"""What attempts at leading came to is counted, by outcome and by nothing a client wrote."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable

import pytest

from octostore.api.metrics import outcomes
from tests.elections.rooms import UNKNOWN_TOKEN, win
from tests.http import Client

pytestmark = pytest.mark.usefixtures("database")


def totals() -> Counter[str]:
    samples = [sample for metric in outcomes.collect() for sample in metric.samples]
    assert {tuple(sample.labels) for sample in samples} <= {("space", "outcome")}
    return Counter({one.labels["outcome"]: int(one.value) for one in samples if one.labels["space"] == "elections"})


Gained = Callable[[], dict[str, int]]


@pytest.fixture
def gained() -> Gained:
    before = totals()
    return lambda: dict(totals() - before)


def test_each_outcome_is_counted_once(client: Client, room: str, key: str, gained: Gained) -> None:
    won = win(client, room, key=key)
    win(client, room, key=key)
    client.campaign(room, "borea")
    client.campaign(room, "borea", key=key)
    client.renew(room, won["leader_token"])
    client.renew(room, UNKNOWN_TOKEN)
    client.resign(room, won["leader_token"])
    client.resign(room, "short")
    client.campaign(room, "atlas", ttl_seconds=1)
    client.room(room)
    assert gained() == {
        "won": 1,
        "replayed": 1,
        "lost": 1,
        "conflict": 1,
        "renewed": 1,
        "lease_not_current": 1,
        "resigned": 1,
        "invalid_input": 1,
        "invalid_ttl": 1,
    }
