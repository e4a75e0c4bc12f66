"""A walk over thousands of locks while others come and go: each that lasts is met exactly once."""

from __future__ import annotations

import random
import time
from datetime import timedelta

from pytest_django.fixtures import Settings

from octostore.leases import engine
from octostore.leases.models import Lease
from octostore.leases.outcomes import Granted
from octostore.teams.models import Team
from tests.locks.cast import Worker, space_of
from tests.players import now_ms
from tests.races import beside

LASTING = 5_000
LENGTH = timedelta(minutes=10)
CHANGES_A_SECOND = 50


def test_five_thousand_locks_while_others_change(worker: Worker, team: Team, settings: Settings) -> None:
    settings.TEAM_LOCKS_MAX = 1_000_000
    space, now = space_of(team), now_ms()
    lasting = [f"repo/{n:05}" for n in range(LASTING)]
    Lease.objects.bulk_create(
        Lease(space=space, name=name, term=1, open_in=space, ttl_ms=600_000, began_at=now, expires_at=now + 600_000)
        for name in lasting
    )
    taken: list[tuple[str, str]] = []

    def change() -> None:
        """Take a lock somewhere between the lasting ones, and give another one back."""
        name = f"repo/{random.randrange(LASTING):05}-{len(taken)}"
        won = engine.acquire(space, name, holder="", ttl=LENGTH)
        assert isinstance(won, Granted)
        taken.append((name, won.capability))
        if len(taken) % 2:
            name, capability = taken[len(taken) // 2]
            engine.release(space, name, capability=capability)

    met: list[str] = []
    cursor: dict[str, str] = {}
    began_at = time.monotonic()
    with beside(change):
        while True:
            page = worker.get("/locks", params={"prefix": "repo/", "limit": "50", **cursor}).json()
            met += [lock["name"] for lock in page["locks"]]
            assert page["total"] >= LASTING
            if page["next_cursor"] is None:
                break
            cursor = {"cursor": page["next_cursor"]}
    assert met == sorted(set(met))
    assert [name for name in met if "-" not in name] == lasting
    assert len(taken) > CHANGES_A_SECOND * (time.monotonic() - began_at)
