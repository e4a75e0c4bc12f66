"""PostgreSQL restarted, killed or paused under deliveries: all arrive, and what was taken is not sent again (G7)."""

from __future__ import annotations

import os
import subprocess
import sys
import time
from collections.abc import Callable, Iterator
from uuid import uuid4

import pytest

from tests.deliveries.cast import RECOVERY_SECONDS
from tests.deliveries.ledger import Event, Ledger, violations
from tests.deliveries.plant import Plant, running_plant
from tests.locks.cast import Worker
from tests.postgres import Server
from tests.processes import ROOT
from tests.races import beside
from tests.server.service import wait_until
from tests.webhooks.receivers import receiving

pytestmark = pytest.mark.only("postgresql")

AWAY_SECONDS = 3
BEFORE, AFTERWARDS = 20, 20


def manage(server: Server, *command: str) -> str:
    """The last line that it prints."""
    whole = [sys.executable, str(ROOT / "manage.py"), *command]
    environment = os.environ | {"DATABASE_URL": server.url()}
    done = subprocess.run(whole, env=environment, check=True, cwd=ROOT, capture_output=True, text=True)
    return done.stdout.strip().rpartition("\n")[2]


@pytest.fixture(scope="module")
def server() -> Iterator[Server]:
    with Server() as running:
        manage(running, "migrate")
        yield running


@pytest.fixture(scope="module")
def plant(server: Server, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Plant]:
    """The whole service on a server of its own."""
    with running_plant(tmp_path_factory.mktemp("plant"), server.url()) as plant:
        yield plant


@pytest.fixture
def worker(server: Server, plant: Plant) -> Iterator[Worker]:
    team = f"team-{uuid4().hex[:12]}"
    manage(server, "create_team", team)
    key = manage(server, "create_key", "--team", team, "--name", "ci", "--scope", "admin")
    with Worker(key, base_url=plant.web.url) as worker:
        yield worker


def change(worker: Worker) -> None:
    """Take and give back a lock, or be told that nobody knows."""
    lock = f"lock-{uuid4().hex}"
    answer = worker.acquire(lock)
    if answer.status_code == 200:
        worker.release(lock, answer.json()["lease_id"])


def events(server: Server, space: str) -> set[Event]:
    rows = server.execute(
        "SELECT name, event.incarnation, n FROM leases_leaseevent event JOIN leases_lease lease ON lease.id = lease_id"
        " WHERE space = %s",
        space,
    )
    return {(lock, f"{incarnation}-{n}") for lock, incarnation, n in rows}


def is_settled(server: Server) -> bool:
    asked = "SELECT (SELECT count(*) FROM leases_owedevent), count(*) FROM webhooks_delivery WHERE state = 'pending'"
    return server.execute(asked) == [(0, 0)]


def restart(server: Server) -> None:
    server.restart()


def kill(server: Server) -> None:
    server.kill()
    time.sleep(AWAY_SECONDS)
    server.start()


def pause(server: Server) -> None:
    server.pause()
    time.sleep(AWAY_SECONDS)
    server.resume()


@pytest.mark.parametrize("befalls", [restart, kill, pause])
def test_what_was_committed_arrives_once(server: Server, worker: Worker, befalls: Callable[[Server], None]) -> None:
    ledger = Ledger()
    with receiving(ledger) as receiver:
        hook = worker.post("/webhooks", json={"url": receiver.url()}).json()
        with beside(lambda: change(worker)):
            assert wait_until(lambda: len(ledger.calls) >= BEFORE, seconds=20)
            befalls(server)
            back_at = time.monotonic()
            came = len(ledger.calls)
            assert wait_until(lambda: len(ledger.calls) >= came + AFTERWARDS, seconds=RECOVERY_SECONDS)
        assert wait_until(lambda: is_settled(server), seconds=RECOVERY_SECONDS - (time.monotonic() - back_at))
        assert violations(ledger, events(server, f"locks/{hook['user_id']}"), hook["secret"]) == []
        assert worker.delete(f"/webhooks/{hook['id']}").status_code == 204
