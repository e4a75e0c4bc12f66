from __future__ import annotations

from collections.abc import Iterator
from uuid import uuid4

import pytest

from octostore.teams.models import Team
from tests.locks.cast import Worker, found_team, issue


@pytest.fixture
def team(database: str) -> Team:
    return found_team()


@pytest.fixture
def worker(team: Team) -> Iterator[Worker]:
    """A worker of the team, with the scope `locks`."""
    with Worker(issue(team, "locks", name="ci")) as one:
        yield one


@pytest.fixture
def mate(team: Team) -> Iterator[Worker]:
    """Another worker of the team, with a key of its own."""
    with Worker(issue(team, "locks", name="deploy")) as one:
        yield one


@pytest.fixture
def admin(team: Team) -> Iterator[Worker]:
    with Worker(issue(team, "admin", name="ops")) as one:
        yield one


@pytest.fixture
def reader(team: Team) -> Iterator[Worker]:
    with Worker(issue(team, "read", name="screen")) as one:
        yield one


@pytest.fixture
def outsider(database: str) -> Iterator[Worker]:
    """A worker of another team, that may do everything there."""
    with Worker(issue(found_team(), "admin", name="ci")) as one:
        yield one


@pytest.fixture
def nobody() -> Iterator[Worker]:
    """Somebody without a key. A test without `database` fails with its first statement."""
    with Worker(None) as one:
        yield one


@pytest.fixture
def lock() -> str:
    """A name nobody has held."""
    return f"repo/issue-{uuid4().hex[:12]}"


@pytest.fixture
def attempt() -> str:
    return f"attempt-{uuid4().hex}"
