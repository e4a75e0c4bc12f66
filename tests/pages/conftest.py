from __future__ import annotations

import pytest
from django.core.cache import cache
from pytest_django.fixtures import Settings

from octostore.teams.models import User
from tests.pages.browser import Browser, somebody


@pytest.fixture(autouse=True)
def quick(settings: Settings) -> None:
    """Passwords are hashed fast, and nobody is remembered as one who tried too often."""
    settings.PASSWORD_HASHERS = ["django.contrib.auth.hashers.MD5PasswordHasher"]
    cache.clear()


@pytest.fixture
def browser(database: str) -> Browser:
    return Browser()


@pytest.fixture
def user(database: str) -> User:
    return somebody()


@pytest.fixture
def staff(database: str) -> User:
    return somebody(is_staff=True)
