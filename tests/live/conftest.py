from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.valkey import Valkey


@pytest.fixture
def valkey(tmp_path: Path) -> Iterator[Valkey]:
    """A running Valkey of this test's own, empty."""
    with Valkey(tmp_path) as server:
        yield server
