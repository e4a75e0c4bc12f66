from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import ExitStack
from pathlib import Path
from typing import Any
from uuid import uuid4

import pytest

from tests.http import Client
from tests.processes import Web
from tests.valkey import Valkey
from tests.watch.waiter import Waiter
from tests.watch.watcher import Watcher

# One machine plays all the clients there are.
CROWD = {"OCTOSTORE_STREAMS_MAX": "5000", "OCTOSTORE_STREAMS_MAX_PER_CLIENT": "5000"}
# Short enough to be waited for.
SHORT = {"OCTOSTORE_ELECTION_TTL_MIN_SECONDS": "1"}

Watch = Callable[..., Watcher]
Wait = Callable[..., Waiter]


@pytest.fixture(scope="session")
def session_valkey(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Valkey]:
    with Valkey(tmp_path_factory.mktemp("valkey")) as server:
        yield server


@pytest.fixture(scope="session")
def session_webs(
    database_url: str, session_valkey: Valkey, tmp_path_factory: pytest.TempPathFactory
) -> Iterator[list[Web]]:
    directory = tmp_path_factory.mktemp("webs")
    environment = {"DATABASE_URL": database_url, "REDIS_URL": session_valkey.url} | CROWD | SHORT
    with ExitStack() as stack:
        yield [stack.enter_context(Web(directory, environment)) for _ in range(2)]


@pytest.fixture
def webs(database: str, session_webs: list[Web]) -> list[Web]:
    """Two web processes that hear of each other, for tests that leave them as they are."""
    return session_webs


@pytest.fixture
def web(webs: list[Web]) -> Web:
    return webs[0]


@pytest.fixture
def client(web: Web) -> Iterator[Client]:
    with web.client() as client:
        yield client


@pytest.fixture
def room() -> str:
    """A room nobody has led."""
    return f"room-{uuid4().hex}"


@pytest.fixture
def valkey(tmp_path: Path) -> Iterator[Valkey]:
    """A running Valkey of this test's own, empty."""
    with Valkey(tmp_path) as server:
        yield server


@pytest.fixture
def watch(web: Web, room: str) -> Iterator[Watch]:
    """Opens a stream of the room; all are closed after the test."""
    with ExitStack() as stack:

        def open_stream(at: Web | None = None, of: str | None = None, **asked: str) -> Watcher:
            return stack.enter_context(Watcher((at or web).port, f"/elections/{of or room}/watch", **asked))

        yield open_stream


@pytest.fixture
def wait(web: Web, room: str) -> Iterator[Wait]:
    """Opens a wait for the room that is in its queue when this returns; all are closed after the test."""
    with ExitStack() as stack:

        def campaign(candidate_id: str = "borea", at: Web | None = None, **asked: Any) -> Waiter:
            waiter = stack.enter_context(Waiter((at or web).port, room, candidate_id, **asked))
            assert waiter.is_waiting(0.15)
            return waiter

        yield campaign
