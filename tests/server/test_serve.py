"""One command starts everything, announces it when it is ready, and leaves nothing behind."""

from __future__ import annotations

import os
import re
import shlex
import signal
import socket
import stat
import sys
import time
from collections.abc import Iterator
from contextlib import closing
from pathlib import Path

import httpx
import psutil
import pytest
import redis

from octostore.server import sockets
from tests.processes import ROOT
from tests.server.service import Service, are_gone, wait_until


@pytest.fixture(scope="module")
def service(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Service]:
    """One for tests that leave it as it is; its data directory is named from where it was started."""
    data = tmp_path_factory.mktemp("serve") / "data"
    with Service(data, OCTOSTORE_DATA=os.path.relpath(data, ROOT)) as running:
        yield running


def has_ipv6() -> bool:
    try:
        sockets.listen("::1", 0).close()
    except OSError:
        return False
    return True


class TestStart:
    def test_announces_calls_that_work_as_printed(self, service: Service) -> None:
        create, campaign = (line.strip() for line in service.output().splitlines() if "curl" in line)
        assert create == f"ROOM=$(curl -s -X POST {service.url}/elections | jq -r .election_id)"
        room = httpx.post(f"{service.url}/elections", trust_env=False).json()["election_id"]
        curl, silent, _, method, url, _, header, _, body = shlex.split(campaign)
        assert (curl, silent, method) == ("curl", "-s", "POST")
        headers = dict([header.split(": ")])
        answer = httpx.post(url.replace("$ROOM", room), headers=headers, content=body, trust_env=False).json()
        assert (answer["status"], answer["leader"]["candidate_id"]) == ("leader", "agent-atlas")

    def test_is_ready_with_all_parts_when_it_says_so(self, service: Service) -> None:
        ready = httpx.get(f"{service.url}/ready", trust_env=False)
        assert (ready.status_code, ready.json()["broker"]) == (200, "ok")

    def test_worker_sweeps(self, service: Service) -> None:
        """The room of this test ends by time, and its history tells so before anybody asks for the room."""
        room = httpx.post(f"{service.url}/elections", trust_env=False).json()["election_id"]
        body = {"candidate_id": "a", "ttl_seconds": 5}
        httpx.post(f"{service.url}/elections/{room}/campaign", json=body, trust_env=False)

        def has_ended() -> bool:
            terms = httpx.get(f"{service.url}/elections/{room}/terms", trust_env=False).json()["terms"]
            return [term["end"] for term in terms] == ["expired"]

        assert wait_until(has_ended, seconds=15)

    def test_every_part_uses_the_data_directory_that_was_named(self, service: Service) -> None:
        assert {path.name for path in service.data.iterdir()} >= {"octostore.sqlite3", "server.key", "valkey"}

    def test_secrets_stay_with_their_owner(self, service: Service) -> None:
        command_lines = " ".join(word for process in service.family() for word in process.cmdline())
        assert not re.search("redis://|requirepass", command_lines)
        for name in ("server.key", "valkey"):
            assert stat.S_IMODE((service.data / name).stat().st_mode) & 0o077 == 0
        listening = [link for link in service.child("valkey-server").net_connections() if link.status == "LISTEN"]
        assert {link.laddr.ip for link in listening} == {"127.0.0.1"}
        with redis.Redis(port=listening[0].laddr.port) as stranger, pytest.raises(redis.AuthenticationError):
            stranger.ping()

    def test_serves_on_the_database_it_is_given(self, tmp_path: Path, database: str, database_url: str) -> None:
        key = Path(os.environ["OCTOSTORE_DATA"]) / "server.key"
        given = {"DATABASE_URL": database_url, "OCTOSTORE_SERVER_KEY_FILE": str(key)}
        with Service(tmp_path / "data", **given) as service:
            assert httpx.get(f"{service.url}/ready", trust_env=False).json()["database"] == "ok"
            assert not (service.data / "octostore.sqlite3").exists()

    @pytest.mark.skipif(not has_ipv6(), reason="this machine has no IPv6 loopback address")
    def test_serves_on_an_ipv6_address(self, tmp_path: Path) -> None:
        with Service(tmp_path / "data", HOST="::1") as service:
            assert re.fullmatch(r"http://\[::1\]:\d+", service.url)
            assert httpx.get(f"{service.url}/health", trust_env=False).status_code == 200

    def test_wildcard_is_reached_over_loopback(self) -> None:
        with closing(sockets.listen("0.0.0.0", 0)) as listener:
            assert sockets.reachable(listener) == ("127.0.0.1", listener.getsockname()[1])
            socket.create_connection(sockets.reachable(listener)).close()


class TestStop:
    @pytest.mark.parametrize("number", [signal.SIGINT, signal.SIGTERM, signal.SIGHUP])
    def test_signal_ends_everything_in_time(self, tmp_path: Path, number: signal.Signals) -> None:
        with Service(tmp_path / "data") as service:
            family = service.family()
            os.kill(service.pid, number)
            assert wait_until(lambda: service.exit_code is not None, seconds=10)
            assert service.exit_code == 0
            assert are_gone(family, seconds=0.5)
            assert "Traceback" not in service.output()

    def test_kill_leaves_no_orphan_and_the_next_start_is_quick(self, tmp_path: Path) -> None:
        service = Service(tmp_path / "data")
        with service:
            family = service.family()
            service.kill()
            assert are_gone(family)
        began = time.monotonic()
        with service:
            assert time.monotonic() - began < 5
            assert httpx.get(f"{service.url}/ready", trust_env=False).json()["broker"] == "ok"

    def test_service_of_a_make_that_ended_ends(self, tmp_path: Path) -> None:
        service = Service(tmp_path / "data")
        stand_in = "import subprocess, sys; subprocess.run(sys.argv[1:])"
        service.command = [sys.executable, "-c", stand_in, *map(str, service.command), "--with-parent"]
        with service:
            family = psutil.Process(service.pid).children(recursive=True)
            service.kill()
            assert are_gone(family, seconds=10)


class TestDeathOfAChild:
    @pytest.mark.parametrize("words", ["web", "celery", "valkey-server"])
    def test_all_stop_with_its_code(self, tmp_path: Path, words: str) -> None:
        with Service(tmp_path / "data") as service:
            family = service.family()
            service.child(words).kill()
            assert wait_until(lambda: service.exit_code is not None, seconds=10)
            assert service.exit_code == 128 + signal.SIGKILL
            assert are_gone(family, seconds=0.5)
            assert "ended by itself with signal SIGKILL" in service.output()

    def test_killed_worker_leaves_no_scheduler(self, tmp_path: Path) -> None:
        with Service(tmp_path / "data") as service:
            service.family()
            worker, runner = service.child("celery"), psutil.Process(service.pid)
            schedulers = worker.children()
            runner.suspend()  # so that it is not the runner who ends them
            worker.kill()
            assert are_gone(schedulers)
            runner.resume()
