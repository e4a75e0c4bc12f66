"""The worker refuses what it cannot serve, and the beat table names what there is."""

from __future__ import annotations

import re
import sys
import time
from contextlib import closing
from importlib import import_module
from pathlib import Path

import psutil
import pytest
from celery.app.task import Task

from octostore.celery import BEAT, app
from octostore.lib import secrets
from tests.processes import Process
from tests.server.service import OWN_SQLITE, SWEPT, manage, wait_until
from tests.valkey import Valkey

# What is shown here does not depend on the database.
pytestmark = pytest.mark.only("sqlite")

NOWHERE = "redis://127.0.0.1:1/0"


@pytest.mark.parametrize("entry", BEAT.values(), ids=BEAT)
def test_scheduled_task_exists_and_its_message_does_not_outlive_the_next(entry: dict[str, object]) -> None:
    module, _, name = str(entry["task"]).rpartition(".")
    task = getattr(import_module(module), name)
    assert isinstance(task, Task)
    assert task.name == entry["task"]
    options, schedule = entry["options"], entry["schedule"]
    assert isinstance(options, dict)
    assert isinstance(schedule, int)
    assert options["expires"] <= 2 * schedule
    assert options.get("queue", app.conf.task_default_queue) in app.conf.task_queues


def test_messages_are_json_alone() -> None:
    assert app.conf.accept_content == ["json"]
    assert app.conf.task_serializer == "json"


def test_no_result_is_kept() -> None:
    assert app.conf.result_backend is None
    assert app.conf.task_ignore_result is True


class Worker(Process):
    """`celery -A octostore worker -B`, saying what it does."""

    def __init__(self, data: Path, redis_url: str, **environment: str) -> None:
        super().__init__(
            [sys.executable, "-m", "celery", "-A", "octostore", "worker", "-B"],
            OWN_SQLITE
            | {"OCTOSTORE_DATA": str(data), "REDIS_URL": redis_url, "OCTOSTORE_LOG_LEVEL": "DEBUG"}
            | environment,
            data.with_name(f"{data.name}-worker.log"),
        )

    def is_ready(self) -> bool:
        return self.sweeps() > 0

    def sweeps(self) -> int:
        return len(SWEPT.findall(self.output()))

    def troubles(self) -> int:
        """How many lines it left that say more than what goes on."""
        return len(re.findall(r'"level":"(?:warning|error|critical)"', self.output()))

    def refusal(self) -> str:
        """What it says as it ends by itself."""
        self.start(wait=False)
        assert wait_until(lambda: self.exit_code is not None, seconds=20)
        assert self.exit_code == 1
        assert "Traceback" not in self.output()
        return self.output()


class TestWorker:
    def test_refuses_an_impossible_setting(self, tmp_path: Path) -> None:
        with closing(Worker(tmp_path, NOWHERE, OCTOSTORE_CORS_ORIGINS="example.com")) as worker:
            (line,) = worker.refusal().splitlines()
        assert line.startswith("OctoStore cannot start: OCTOSTORE_CORS_ORIGINS must list web origins")

    def test_refuses_a_database_without_tables(self, tmp_path: Path) -> None:
        with closing(Worker(tmp_path, NOWHERE)) as worker:
            assert "OctoStore cannot start: the database lacks migrations" in worker.refusal()

    def test_refuses_an_unknown_server_key(self, tmp_path: Path) -> None:
        first, other = (secrets.encode(secrets.mint(32)) for _ in range(2))
        for command in ("migrate", "adopt_server_key"):
            manage(command, OCTOSTORE_DATA=str(tmp_path), OCTOSTORE_SERVER_KEY=first)
        with closing(Worker(tmp_path, NOWHERE, OCTOSTORE_SERVER_KEY=other)) as worker:
            assert "does not know the server key" in worker.refusal()

    def test_works_again_after_its_broker_was_gone(self, tmp_path: Path) -> None:
        data = tmp_path / "data"
        manage("migrate", OCTOSTORE_DATA=str(data))
        with Valkey(tmp_path) as valkey, Worker(data, valkey.url) as worker:
            valkey.stop()
            time.sleep(3)
            valkey.start()
            before = worker.sweeps()
            assert wait_until(lambda: worker.sweeps() >= before + 2, seconds=30)
            assert worker.stop() == 0

    def test_gives_up_what_it_holds_when_its_broker_is_gone(self, tmp_path: Path) -> None:
        with Valkey(tmp_path) as valkey:
            connection = app.connection_for_read(valkey.url)
            connection.SimpleQueue("default").put("hint")
            channel, held = connection.default_channel, list[object]()
            connection.Consumer(app.amqp.queues["default"], channel, on_message=held.append).consume()
            connection.drain_events(timeout=5)
            assert held
            with pytest.raises(TimeoutError):
                connection.drain_events(timeout=0.5)
            valkey.stop()
            with pytest.raises(connection.connection_errors):
                channel.close()
            # The worker tries twice, and ends when the second time fails too.
            channel.close()

    def test_ends_when_its_scheduler_does(self, tmp_path: Path) -> None:
        """Alone it would idle for ever; so whoever started it starts both again."""
        data = tmp_path / "data"
        manage("migrate", OCTOSTORE_DATA=str(data))
        with Valkey(tmp_path) as valkey, Worker(data, valkey.url) as worker:
            (scheduler,) = psutil.Process(worker.pid).children()
            scheduler.kill()
            assert wait_until(lambda: worker.exit_code is not None, seconds=20)
            assert worker.exit_code == 1
            assert "The scheduler ended by itself" in worker.output()
