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
from tests.valkey import Valkey

# What these show does not depend on the database.
only_once = pytest.mark.only("sqlite")


@pytest.fixture(scope="module")
def service(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Service]:
    """One for tests that leave it as it is; its data directory is named from where it was started."""
    data = tmp_path_factory.mktemp("serve") / "data"
    with Service(data, OCTOSTORE_DATA=os.path.relpath(data, ROOT)) as running:
        yield running


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

    def test_uses_the_database_and_the_broker_it_is_given(
        self, tmp_path: Path, database: str, database_url: str
    ) -> None:
        redis_url_file = tmp_path / "redis-url"
        given = {
            "DATABASE_URL": database_url,
            "OCTOSTORE_SERVER_KEY_FILE": str(Path(os.environ["OCTOSTORE_DATA"]) / "server.key"),
            "REDIS_URL_FILE": str(redis_url_file),
        }
        with Valkey(tmp_path) as valkey:
            redis_url_file.write_text(valkey.url)
            with Service(tmp_path / "data", **given) as service:
                ready = httpx.get(f"{service.url}/ready", trust_env=False).json()
                assert (ready["database"], ready["broker"]) == ("ok", "ok")
                assert {path.name for path in service.data.iterdir()} == {"serve.lock"}

    def test_serves_on_an_ipv6_address(self, tmp_path: Path) -> None:
        with Service(tmp_path / "data", HOST="::1") as service:
            assert re.fullmatch(r"http://\[::1\]:\d+", service.url)
            assert httpx.get(f"{service.url}/health", trust_env=False).status_code == 200

    def test_wildcard_is_reached_over_loopback(self) -> None:
        with closing(sockets.listen("0.0.0.0", 0)) as listener:
            assert sockets.reachable(listener) == ("127.0.0.1", listener.getsockname()[1])
            socket.create_connection(sockets.reachable(listener)).close()


@only_once
class TestStop:
    @pytest.mark.parametrize("number", [signal.SIGINT, signal.SIGHUP])
    def test_signal_ends_everything_in_time(self, tmp_path: Path, number: signal.Signals) -> None:
        with Service(tmp_path / "data") as service:
            family = service.family()
            os.kill(service.pid, number)
            assert wait_until(lambda: service.exit_code is not None, seconds=10)
            assert service.exit_code == 0
            assert are_gone(family, seconds=0.5)
            assert "Traceback" not in service.output()

    @pytest.mark.alone
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


@only_once
class TestDeathOfAChild:
    def test_all_stop_with_the_web_process(self, tmp_path: Path) -> None:
        with Service(tmp_path / "data") as service:
            family = service.family()
            service.child("web").kill()
            assert wait_until(lambda: service.exit_code is not None, seconds=10)
            assert service.exit_code == 128 + signal.SIGKILL
            assert are_gone(family, seconds=0.5)
            assert "web process ended by itself with signal SIGKILL" in service.output()

    @pytest.mark.parametrize(
        ("words", "name"),
        [("--beat", "worker"), ("deliveries", "worker of deliveries"), ("valkey-server", "bundled Valkey")],
    )
    def test_any_other_comes_back_while_it_serves(self, tmp_path: Path, words: str, name: str) -> None:
        with Service(tmp_path / "data", OCTOSTORE_LOG_LEVEL="DEBUG") as service:
            service.family()
            web, died = service.child("web"), service.child(words)
            died.kill()
            assert wait_until(lambda: f"The {name} ended by itself with signal SIGKILL" in service.output())
            assert httpx.get(f"{service.url}/health", trust_env=False).status_code == 200
            assert wait_until(lambda: service.child(words).pid != died.pid)
            swept = service.sweeps()
            assert wait_until(lambda: service.sweeps() >= swept + 2, seconds=60)
            assert httpx.get(f"{service.url}/ready", trust_env=False).json()["broker"] == "ok"
            assert service.child("web") == web
            family = service.family()
            os.kill(service.pid, signal.SIGINT)
            assert wait_until(lambda: service.exit_code is not None, seconds=10)
            assert are_gone(family, seconds=0.5)

    def test_killed_scheduler_comes_back_with_its_worker(self, tmp_path: Path) -> None:
        with Service(tmp_path / "data", OCTOSTORE_LOG_LEVEL="DEBUG") as service:
            service.family()
            (scheduler,) = service.child("--beat").children()
            scheduler.kill()
            assert wait_until(lambda: "The worker ended by itself" in service.output(), seconds=20)
            swept = service.sweeps()
            assert wait_until(lambda: service.sweeps() >= swept + 2, seconds=60)

    def test_killed_worker_leaves_no_scheduler(self, tmp_path: Path) -> None:
        with Service(tmp_path / "data") as service:
            service.family()
            worker, runner = service.child("--beat"), psutil.Process(service.pid)
            schedulers = worker.children()
            runner.suspend()  # so that it is not the runner who ends them
            worker.kill()
            assert are_gone(schedulers)
            runner.resume()
