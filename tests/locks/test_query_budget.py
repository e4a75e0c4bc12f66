"""How many statements each verb of locks and sessions costs; one more is a decision, not an accident."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import AbstractContextManager, contextmanager

import pytest
from django.db import connection
from django.test.utils import CaptureQueriesContext

from octostore.teams import limits
from tests.locks.cast import UNKNOWN_LEASE, Worker, expire

# A write on SQLite is a transaction: begin, read the clock, write the clock, the statements, commit.
TRANSACTION = 4
KEY = 1

Budget = Callable[[str], AbstractContextManager[None]]

# (PostgreSQL, SQLite)
BUDGETS: dict[str, tuple[int, int]] = {
    "first win": (KEY + 3, KEY + 1 + (TRANSACTION + 1) + (TRANSACTION + 4)),
    "win": (KEY + 2, KEY + 1 + TRANSACTION + 4),
    "takeover": (KEY + 2, KEY + 1 + TRANSACTION + 6),
    "lost": (KEY + 1, KEY + 1),
    "delayed": (KEY + 1, KEY + 1),
    "replayed": (KEY + 1, KEY + 1),
    "renewed": (KEY + 1, KEY + TRANSACTION + 2),
    "not renewed": (KEY + 2, KEY + TRANSACTION + 2),
    "released": (KEY + 1, KEY + TRANSACTION + 3),
    "released with its delay": (KEY + 2, KEY + 1 + TRANSACTION + 3),
    # Its entry in the audit, in a transaction of its own, and the lock as it is then.
    "revoked": (KEY + 1 + 3 + 1, KEY + TRANSACTION + 3 + 3 + 1),
    "status": (KEY + 1, KEY + 1),
    "list": (KEY + 3, KEY + 3),
    "history": (KEY + 2, KEY + 2),
    "acl": (KEY + 1, KEY + TRANSACTION + 1),
    "begun": (KEY + 3, KEY + 2 + TRANSACTION + 1),
    "kept": (KEY + 4, KEY + TRANSACTION + 2),
    "looked at": (KEY + 3, KEY + 3),
    "sessions": (KEY + 3, KEY + 3),
    "ended": (KEY + 4, KEY + 1 + TRANSACTION + 3),
    "win in a session": (KEY + 3, KEY + 2 + TRANSACTION + 4),
    "again in a session": (KEY + 3, KEY + 2 + TRANSACTION + 1),
    # Tried as an unbound one first, for that is what most are.
    "renewed in a session": (KEY + 3, KEY + (TRANSACTION + 1) + 1 + (TRANSACTION + 2)),
}


@pytest.fixture
def budget(database: str, worker: Worker, monkeypatch: pytest.MonkeyPatch) -> Budget:
    """The team's limits were read a moment ago, and connections are open."""
    monkeypatch.setattr(limits, "FRESH_SECONDS", float("inf"))
    worker.hold("before")
    worker.get("/locks")

    @contextmanager
    def limited(verb: str) -> Iterator[None]:
        with CaptureQueriesContext(connection) as queries:
            yield
        allowed = BUDGETS[verb][database == "sqlite"]
        assert len(queries) == allowed, "\n".join(str(query["sql"]) for query in queries.captured_queries)

    return limited


def test_each_verb_of_a_lock_keeps_to_its_budget(
    worker: Worker, admin: Worker, lock: str, attempt: str, budget: Budget
) -> None:
    with budget("first win"):
        won = worker.hold(lock)
    with budget("lost"):
        worker.acquire(lock)
    with budget("status"):
        worker.lock(lock)
    with budget("renewed"):
        worker.renew_lock(lock, won["lease_id"])
    with budget("not renewed"):
        worker.renew_lock(lock, UNKNOWN_LEASE)
    with budget("released"):
        worker.release(lock, won["lease_id"])
    with budget("win"):
        won = worker.hold(lock, attempt=attempt, lock_delay_seconds=1)
    with budget("replayed"):
        worker.hold(lock, attempt=attempt, lock_delay_seconds=1)
    with budget("released with its delay"):
        worker.release(lock, won["lease_id"], delay=True)
    with budget("delayed"):
        worker.acquire(lock)
    won = worker.hold(lock + "-2")
    expire(lock + "-2")
    with budget("takeover"):
        won = worker.hold(lock + "-2")
    with budget("revoked"):
        admin.revoke(lock + "-2", won["fencing_token"])
    with budget("history"):
        worker.terms(lock)
    with budget("list"):
        worker.get("/locks")
    with budget("acl"):
        admin.delete(f"/locks/{lock}/acl")


def test_each_verb_of_a_session_keeps_to_its_budget(worker: Worker, lock: str, budget: Budget) -> None:
    with budget("begun"):
        session = worker.begin()
    worker.release(lock, worker.hold(lock)["lease_id"])
    with budget("win in a session"):
        won = worker.hold(lock, session_id=session, ephemeral=True)
    with budget("again in a session"):
        worker.hold(lock, session_id=session, ephemeral=True)
    with budget("renewed in a session"):
        worker.renew_lock(lock, won["lease_id"])
    with budget("kept"):
        worker.keep(session)
    with budget("looked at"):
        worker.session(session)
    with budget("sessions"):
        worker.get("/sessions")
    with budget("ended"):
        worker.delete(f"/sessions/{session}")
