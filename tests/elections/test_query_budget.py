"""How many statements each verb costs; one more is a decision, not an accident."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import AbstractContextManager, contextmanager

import pytest
from django.db import connection
from django.test.utils import CaptureQueriesContext

from elections import services
from tests.elections.rooms import UNKNOWN_TOKEN, expire, win
from tests.http import Client

# A write on SQLite is a transaction: begin, read the clock, write the clock, the statements, commit.
TRANSACTION = 4

Budget = Callable[[str], AbstractContextManager[None]]

# (PostgreSQL, SQLite)
BUDGETS = {
    "create": (0, 0),
    "status": (1, 1),
    "first win": (3, 1 + (TRANSACTION + 1) + (TRANSACTION + 4)),
    "win": (2, 1 + TRANSACTION + 4),
    "takeover": (2, 1 + TRANSACTION + 6),
    "lost": (1, 1),
    "replayed": (1, 1),
    "renewed": (1, TRANSACTION + 2),
    "not renewed": (2, TRANSACTION + 2),
    "resigned": (1, TRANSACTION + 3),
    "terms": (2, 2),
    "term": (1, 1),
}


@pytest.fixture(autouse=True)
def counted(database: str, client: Client, room: str) -> None:
    """Led rooms were counted a moment ago, and connections are open."""
    services.capacity.admit(room + "-0", "nobody")
    client.resign(room + "-0", win(client, room + "-0")["leader_token"])


@pytest.fixture
def budget(database: str, monkeypatch: pytest.MonkeyPatch) -> Budget:
    monkeypatch.setattr("elections.capacity.FRESH_SECONDS", float("inf"))

    @contextmanager
    def limited(verb: str) -> Iterator[None]:
        with CaptureQueriesContext(connection) as queries:
            yield
        allowed = BUDGETS[verb][database == "sqlite"]
        assert len(queries) == allowed, "\n".join(query["sql"] for query in queries.captured_queries)

    return limited


def test_each_verb_keeps_to_its_budget(client: Client, room: str, key: str, budget: Budget) -> None:
    with budget("create"):
        client.post("/elections")
    with budget("first win"):
        won = win(client, room)
    with budget("lost"):
        client.campaign(room, "borea")
    with budget("status"):
        client.room(room)
    with budget("renewed"):
        client.renew(room, won["leader_token"])
    with budget("not renewed"):
        client.renew(room, UNKNOWN_TOKEN)
    with budget("term"):
        client.get(f"/elections/{room}/terms/1")
    with budget("resigned"):
        client.resign(room, won["leader_token"])
    with budget("win"):
        win(client, room, key=key)
    with budget("replayed"):
        win(client, room, key=key)
    expire(room)
    with budget("takeover"):
        win(client, room)
    with budget("terms"):
        client.get(f"/elections/{room}/terms")
