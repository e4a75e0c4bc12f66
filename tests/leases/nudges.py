"""The nudges that the engine sends after a change."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

from django.db import connection

from octostore.leases.signals import lease_changed


@contextmanager
def nudges() -> Iterator[list[tuple[str, str, bool]]]:
    """Space and name of each nudge, and whether it came inside a transaction."""
    heard: list[tuple[str, str, bool]] = []

    def hear(*, space: str, name: str, **_: Any) -> None:
        heard.append((space, name, connection.in_atomic_block))

    lease_changed.connect(hear)
    try:
        yield heard
    finally:
        lease_changed.disconnect(hear)
