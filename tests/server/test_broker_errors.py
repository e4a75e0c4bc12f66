"""A Redis that answers, but with errors, ends no worker; work goes on once it is itself again (G7)."""

from __future__ import annotations

import shutil
from collections.abc import Callable, Iterator
from contextlib import AbstractContextManager, contextmanager

import pytest
import redis

from tests.server.service import manage, wait_until
from tests.server.test_celery import Worker
from tests.valkey import Valkey

# What is shown here does not depend on the database.
pytestmark = pytest.mark.only("sqlite")

BACK_SECONDS = 60
SLOW_KEYS = 1500


@contextmanager
def read_only(valkey: Valkey) -> Iterator[None]:
    with valkey.client() as client:
        client.replicaof("127.0.0.1", "1")
        yield
        client.replicaof("NO", "ONE")


@contextmanager
def full(valkey: Valkey) -> Iterator[None]:
    with valkey.client() as client:
        client.config_set("maxmemory", 1)
        yield
        client.config_set("maxmemory", 0)


@contextmanager
def forbidding(valkey: Valkey) -> Iterator[None]:
    with valkey.client() as client:
        client.execute_command("ACL", "SETUSER", "default", "-@all", "+acl", "+ping", "+client")
        yield
        client.execute_command("ACL", "SETUSER", "default", "+@all")


@contextmanager
def with_another_password(valkey: Valkey) -> Iterator[None]:
    with valkey.client() as client:
        client.config_set("requirepass", "another")
        client.client_kill_filter(_type="normal", skipme=True)
        yield
        client.config_set("requirepass", "")


@contextmanager
def unable_to_save(valkey: Valkey) -> Iterator[None]:
    with valkey.client() as client:
        client.config_set("save", "3600 1000000")
        shutil.rmtree(valkey.home)
        client.bgsave()
        assert wait_until(lambda: client.info("persistence")["rdb_last_bgsave_status"] == "err")
        yield
    valkey.stop()
    valkey.home.mkdir()
    valkey.start()


@contextmanager
def with_foreign_keys(valkey: Valkey) -> Iterator[None]:
    """Something else stands where its queues should be."""
    names = ["sweep", "default", "_kombu.binding.sweep", "_kombu.binding.default"]
    with valkey.client() as client:
        client.delete(*names)
        client.mset(dict.fromkeys(names, "x"))
        yield
        client.delete(*names)


@contextmanager
def loading(valkey: Valkey) -> Iterator[None]:
    with valkey.client() as client:
        client.mset({f"ballast-{number}": "x" for number in range(SLOW_KEYS)})
        client.save()
    valkey.stop()
    valkey.start("--key-load-delay", "1000", "--loading-process-events-interval-bytes", "1024", wait=False)
    yield
    with valkey.client() as client:
        assert wait_until(lambda: _answers(client))
        client.flushall()


def _answers(client: redis.Redis) -> bool:
    try:
        return bool(client.ping())
    except redis.ConnectionError:
        return False


BEFALLS = [read_only, full, forbidding, with_another_password, unable_to_save, with_foreign_keys, loading]


@pytest.fixture(scope="module")
def valkey(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Valkey]:
    with Valkey(tmp_path_factory.mktemp("valkey")) as running:
        yield running


@pytest.fixture(scope="module")
def worker(valkey: Valkey, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Worker]:
    data = tmp_path_factory.mktemp("worker") / "data"
    manage("migrate", OCTOSTORE_DATA=str(data))
    with Worker(data, valkey.url) as running:
        yield running


@pytest.mark.parametrize("befalls", BEFALLS)
def test_worker_outlives_it_and_works_again(
    worker: Worker, valkey: Valkey, befalls: Callable[[Valkey], AbstractContextManager[None]]
) -> None:
    before = worker.troubles()
    with befalls(valkey):
        assert wait_until(lambda: worker.troubles() > before, seconds=15), "nothing befell the worker"
    swept = worker.sweeps()
    assert wait_until(lambda: worker.sweeps() >= swept + 2, seconds=BACK_SECONDS)
    assert worker.exit_code is None


def test_scripts_it_has_forgotten_are_no_matter(worker: Worker, valkey: Valkey) -> None:
    with valkey.client() as client:
        client.script_flush()
    swept = worker.sweeps()
    assert wait_until(lambda: worker.sweeps() >= swept + 2, seconds=BACK_SECONDS)


def test_worker_stops_while_it_lasts(valkey: Valkey, worker: Worker) -> None:
    before = worker.troubles()
    with full(valkey):
        assert wait_until(lambda: worker.troubles() > before, seconds=15)
        assert worker.stop() == 0
    worker.start()
