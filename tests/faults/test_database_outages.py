"""PostgreSQL restarted, killed, paused, demoted or full under load (G1, G9; cases: a short outage).

Each answer comes within the bounded wait; what is not certain is 503; leaders keep their terms, and
service returns by itself.
"""

from __future__ import annotations

import subprocess
import sys
import time
from collections.abc import Iterator
from functools import partial
from pathlib import Path
from uuid import uuid4

import pytest

from tests.faults.load import load, longest, newcomers, wait_for_renewals
from tests.history import History
from tests.invariants import violations
from tests.postgres import Server
from tests.processes import ROOT, Web
from tests.races import beside

pytestmark = pytest.mark.only("postgresql")

WAIT_SECONDS = 2
# A lost connection is tried once more, so an answer may take two bounded waits, and a little.
BOUND_SECONDS = 2 * WAIT_SECONDS + 1.5


@pytest.fixture(scope="module")
def server() -> Iterator[Server]:
    with Server() as running:
        yield running


@pytest.fixture(scope="module")
def web(server: Server, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Web]:
    environment = {"DATABASE_URL": server.url(), "OCTOSTORE_STORAGE_WAIT_SECONDS": str(WAIT_SECONDS)}
    migrate: list[str | Path] = [sys.executable, ROOT / "manage.py", "migrate", "--verbosity", "0"]
    directory = tmp_path_factory.mktemp("outages")
    web = Web(directory, environment)
    subprocess.run(migrate, env=web.whole_environment(), check=True, cwd=ROOT)
    with web:
        yield web


def leads_on(history: History) -> bool:
    """Every client's own room has seen one term only, through everything."""
    own = [op for op in history.operations if op.name.startswith("room-") and op.outcome == "ok" and op.term]
    return len({(op.name, op.term) for op in own}) == len({op.name for op in own})


def check(history: History) -> None:
    assert violations(history) == []
    assert leads_on(history)
    assert history.count("renew", "refused") == 0
    assert longest(history) < BOUND_SECONDS


class TestGone:
    def test_a_restart_costs_no_term(self, server: Server, web: Web) -> None:
        with load([web]) as history:
            wait_for_renewals(history, 20, within=10)
            server.restart()
            wait_for_renewals(history, 40, within=10)
        check(history)

    def test_a_crash_costs_no_term(self, server: Server, web: Web) -> None:
        with load([web]) as history:
            wait_for_renewals(history, 20, within=10)
            server.kill()
            with web.client() as client:
                assert client.get("/ready").status_code == 503
                assert client.get("/health").status_code == 200
            server.start()
            wait_for_renewals(history, 40, within=10)
        check(history)
        assert history.count("renew", "unknown") > 0

    def test_a_pause_is_answered_within_the_bounded_wait(self, server: Server, web: Web) -> None:
        with load([web]) as history:
            wait_for_renewals(history, 20, within=10)
            server.pause()
            time.sleep(2 * WAIT_SECONDS)
            server.resume()
            wait_for_renewals(history, 40, within=10)
        check(history)
        assert history.count("renew", "unknown") > 0

    def test_newcomers_are_answered_within_the_bounded_wait(self, server: Server, web: Web) -> None:
        with newcomers(web) as history:
            time.sleep(0.5)
            server.pause()
            time.sleep(4 * WAIT_SECONDS)
            server.resume()
            time.sleep(0.5)
        assert longest(history) < BOUND_SECONDS
        assert history.count("campaign", "unknown") > 0
        assert history.operations[-1].outcome == "ok"

    def test_everything_may_die_at_once(self, server: Server, web: Web) -> None:
        room = f"room-{uuid4().hex}"
        with web.client() as client:
            won = client.campaign(room, "atlas", ttl_seconds=300).json()
        web.kill()
        server.kill()
        server.start()
        web.start()
        with web.client() as client:
            assert client.room(room).json()["leader"] == won["leader"]
            assert client.campaign(room, "borea").json()["leader"] == won["leader"]
            assert client.renew(room, won["leader_token"]).json()["leader"]["term"] == won["leader"]["term"]


class TestRefusing:
    def test_a_demoted_server_is_left_and_found_again(self, server: Server, web: Web) -> None:
        with load([web]) as history:
            wait_for_renewals(history, 20, within=10)
            server.configure(default_transaction_read_only="on")
            time.sleep(1)
            server.configure(default_transaction_read_only=None)
            wait_for_renewals(history, 40, within=10)
        check(history)
        assert history.count("renew", "unknown") > 0

    @pytest.mark.parametrize(
        ("what", "sqlstate"), [("disk full", "53100"), ("input/output error", "58030"), ("corruption", "XX001")]
    )
    def test_a_failing_disk_is_told_as_unavailable(self, server: Server, web: Web, what: str, sqlstate: str) -> None:
        server.execute(
            "CREATE OR REPLACE FUNCTION fail() RETURNS trigger LANGUAGE plpgsql AS"
            f" $$ BEGIN RAISE EXCEPTION '{what}' USING ERRCODE = '{sqlstate}'; END $$"
        )
        with load([web]) as history:
            wait_for_renewals(history, 20, within=10)
            server.execute("CREATE TRIGGER fails BEFORE INSERT OR UPDATE ON leases_lease EXECUTE FUNCTION fail()")
            time.sleep(0.5)
            server.execute("DROP TRIGGER fails ON leases_lease")
            wait_for_renewals(history, 40, within=10)
        check(history)
        assert history.count("renew", "unknown") > 0

    def test_connections_beyond_the_servers_limit_are_unavailable(self, server: Server, web: Web) -> None:
        with load([web]) as history:
            wait_for_renewals(history, 20, within=10)
            server.execute("ALTER DATABASE octostore WITH ALLOW_CONNECTIONS false", database="postgres")
            server.execute(
                "SELECT pg_terminate_backend(pid) FROM pg_stat_activity WHERE datname = 'octostore'",
                database="postgres",
            )
            time.sleep(0.5)
            server.execute("ALTER DATABASE octostore WITH ALLOW_CONNECTIONS true", database="postgres")
            wait_for_renewals(history, 40, within=10)
        check(history)


class TestUncertainCommits:
    @pytest.fixture
    def standby_missing(self, server: Server) -> Iterator[None]:
        """Commits wait for a synchronous standby that does not exist."""
        server.configure(synchronous_standby_names="nobody")
        time.sleep(0.2)
        yield
        server.configure(synchronous_standby_names=None)

    def cancel_the_wait(self, server: Server) -> None:
        """What an impatient client or statement_timeout does: the commit is told as done, with a WARNING."""
        waiting = "FROM pg_stat_activity WHERE wait_event = 'SyncRep'"
        deadline = time.monotonic() + WAIT_SECONDS
        while not server.execute(f"SELECT pg_cancel_backend(pid) {waiting}") and time.monotonic() < deadline:
            time.sleep(0.01)

    def test_a_commit_with_a_warning_is_no_grant(self, server: Server, web: Web, standby_missing: None) -> None:
        room, key = f"room-{uuid4().hex}", f"attempt-{uuid4().hex}"
        with web.client() as client:
            with beside(partial(self.cancel_the_wait, server)):
                answer = client.campaign(room, "atlas", key=key)
            assert (answer.status_code, answer.json()["code"]) == (503, "unavailable")
            server.configure(synchronous_standby_names=None)
            assert client.campaign(room, "atlas", key=key).json()["status"] == "leader"

    def test_a_commit_that_hangs_is_no_grant(self, server: Server, web: Web, standby_missing: None) -> None:
        room, key = f"room-{uuid4().hex}", f"attempt-{uuid4().hex}"
        with web.client() as client:
            began = time.monotonic()
            answer = client.campaign(room, "atlas", key=key)
            assert (answer.status_code, answer.json()["code"]) == (503, "unavailable")
            assert time.monotonic() - began < BOUND_SECONDS
            server.configure(synchronous_standby_names=None)
            retried = client.campaign(room, "atlas", key=key)
            assert retried.json()["status"] == "leader"
