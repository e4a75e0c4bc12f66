from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import Any

import pytest
from django.core.cache import cache
from pytest_django.fixtures import Settings

from octostore.leases.models import Lease, LeaseEvent, LeaseGroup
from octostore.teams.models import ApiKey, AuditEntry, Invitation, Membership, Quota, Role, Team
from tests.dashboard.cast import Person
from tests.locks.cast import Worker, issue
from tests.pages.browser import Browser, somebody
from tests.teams.cast import found_team
from webhooks.models import Delivery, Endpoint


@pytest.fixture(autouse=True)
def quick(settings: Settings) -> None:
    """Passwords are hashed fast, and nobody is remembered as one who tried too often."""
    settings.PASSWORD_HASHERS = ["django.contrib.auth.hashers.MD5PasswordHasher"]
    cache.clear()


@pytest.fixture
def team(database: str) -> Team:
    return found_team()


@pytest.fixture
def owner(team: Team) -> Person:
    return Person.of(team, Role.OWNER)


@pytest.fixture
def admin(team: Team) -> Person:
    return Person.of(team, Role.ADMIN)


@pytest.fixture
def member(team: Team) -> Person:
    return Person.of(team, Role.MEMBER)


@pytest.fixture
def viewer(team: Team) -> Person:
    return Person.of(team, Role.VIEWER)


@pytest.fixture
def outsider(database: str) -> Person:
    """An owner of another team."""
    return Person.of(found_team(), Role.OWNER)


@pytest.fixture
def anonymous(database: str) -> Browser:
    return Browser()


@pytest.fixture
def staff(database: str) -> Person:
    return Person(somebody(is_staff=True))


@pytest.fixture
def stored() -> Callable[[], list[Any]]:
    """Reads every row that a page could change."""
    of_leases = (Lease, LeaseEvent, LeaseGroup)
    models = (ApiKey, AuditEntry, Invitation, Membership, Quota, Team, *of_leases, Endpoint, Delivery)
    return lambda: [row for model in models for row in model.objects.order_by("pk").values()]


@pytest.fixture
def worker(team: Team) -> Iterator[Worker]:
    """A worker of the team, whose key is called `ci`."""
    with Worker(issue(team, "locks", name="ci")) as one:
        yield one
