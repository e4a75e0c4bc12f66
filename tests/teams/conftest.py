from __future__ import annotations

import pytest

from octostore.teams.models import Membership, Role, Team
from tests.teams.cast import found_team, join


@pytest.fixture
def team(database: str) -> Team:
    return found_team()


@pytest.fixture
def owner(team: Team) -> Membership:
    return join(team, Role.OWNER)


@pytest.fixture
def admin(team: Team) -> Membership:
    return join(team, Role.ADMIN)


@pytest.fixture
def viewer(team: Team) -> Membership:
    return join(team, Role.VIEWER)
