from __future__ import annotations

from collections.abc import Iterator
from uuid import uuid4

import pytest

from tests.elections.rooms import caller
from tests.http import Client


@pytest.fixture
def client() -> Iterator[Client]:
    """A strict client of the whole stack. A test without `database` fails with its first statement."""
    with caller() as one:
        yield one


@pytest.fixture
def room() -> str:
    """A room nobody has led."""
    return f"room-{uuid4().hex}"


@pytest.fixture
def key() -> str:
    return f"attempt-{uuid4().hex}"
