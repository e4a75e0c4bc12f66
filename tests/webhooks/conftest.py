from __future__ import annotations

from collections.abc import Iterator
from uuid import uuid4

import pytest
from pytest_django.fixtures import Settings

from octostore.teams.models import Team
from tests.locks.cast import Worker, found_team, issue
from tests.webhooks.cast import Keeper
from tests.webhooks.receivers import Receiver, answering, receiving


@pytest.fixture
def team(database: str) -> Team:
    return found_team()


@pytest.fixture
def keeper(team: Team) -> Iterator[Keeper]:
    """Who looks after the team's webhooks, with the scope `webhooks`."""
    with Keeper(issue(team, "webhooks", name="hooks")) as one:
        yield one


@pytest.fixture
def within(team: Team) -> Iterator[Keeper]:
    """A keeper for the locks under repo/ alone."""
    with Keeper(issue(team, "webhooks", name="repo-hooks", prefix="repo/")) as one:
        yield one


@pytest.fixture
def admin(team: Team) -> Iterator[Keeper]:
    with Keeper(issue(team, "admin", name="ops")) as one:
        yield one


@pytest.fixture
def worker(team: Team) -> Iterator[Worker]:
    """A worker of the team, whose locks make the events."""
    with Worker(issue(team, "locks", name="ci")) as one:
        yield one


@pytest.fixture
def outsider(database: str) -> Iterator[Keeper]:
    """Somebody of another team, who may do everything there."""
    with Keeper(issue(found_team(), "admin", name="hooks")) as one:
        yield one


@pytest.fixture
def nobody() -> Iterator[Keeper]:
    """Somebody without a key. A test without `database` fails with its first statement."""
    with Keeper(None) as one:
        yield one


@pytest.fixture
def lock() -> str:
    return f"repo/issue-{uuid4().hex[:12]}"


@pytest.fixture
def private(settings: Settings) -> None:
    """Receivers on loopback may be called."""
    settings.WEBHOOK_ALLOW_PRIVATE = True


@pytest.fixture
def receiver(private: None) -> Iterator[Receiver]:
    """One that takes everything."""
    with receiving(answering()) as one:
        yield one
