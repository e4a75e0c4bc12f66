"""All of the service that delivers, as processes of the test's own: web, broker, workers."""

from __future__ import annotations

import sys
from collections.abc import Iterator
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass, field
from pathlib import Path

from tests.processes import Process, Web
from tests.valkey import Valkey

SETTINGS = {"OCTOSTORE_WEBHOOK_ALLOW_PRIVATE": "1", "OCTOSTORE_LOG_LEVEL": "INFO"}


class Celery(Process):
    """A worker, started as `manage.py serve` starts it."""

    def __init__(self, directory: Path, environment: dict[str, str], name: str, *arguments: str) -> None:
        alone = ("--without-mingle", "--without-gossip", "--without-heartbeat")
        command = [sys.executable, "-m", "celery", "-A", "octostore", "worker", *alone, "-n", f"{name}@test"]
        super().__init__([*command, *arguments], environment, directory / f"{name}.log")
        self._said_before = 0

    def start(self, *, wait: bool = True) -> None:
        self._said_before = len(self.output())
        super().start(wait=wait)

    def is_ready(self) -> bool:
        return "@test ready." in self.output()[self._said_before :]


@dataclass
class Plant:
    """What a customer's events pass on their way; each part may be ended and started again."""

    directory: Path
    environment: dict[str, str]
    valkey: Valkey
    web: Web = field(init=False)
    # Sweeps, hands events over and says what is due, by its own schedule.
    scheduler: Celery = field(init=False)
    # Calls receivers.
    sender: Celery = field(init=False)

    def __post_init__(self) -> None:
        self.web = Web(self.directory, self.environment)
        self.scheduler = self.another_scheduler("scheduler")
        self.sender = Celery(self.directory, self.environment, "sender", "-Q", "deliveries")

    def another_scheduler(self, name: str) -> Celery:
        return Celery(self.directory, self.environment, name, "-B", "-Q", "sweep,default")


@contextmanager
def running_plant(directory: Path, database_url: str, **environment: str) -> Iterator[Plant]:
    """The plant on a migrated database, once every part of it is ready."""
    with Valkey(directory) as valkey, ExitStack() as stack:
        settings = SETTINGS | {"DATABASE_URL": database_url, "REDIS_URL": valkey.url} | environment
        plant = Plant(directory, settings, valkey)
        for process in (plant.web, plant.scheduler, plant.sender):
            process.start(wait=False)
            stack.callback(process.close)
        for process in (plant.web, plant.scheduler, plant.sender):
            process.wait_until_ready()
        yield plant
