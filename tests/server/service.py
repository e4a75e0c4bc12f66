"""The one-command service as its user starts it, with a data directory of the test's own."""

from __future__ import annotations

import os
import re
import subprocess
import sys
import time
from collections.abc import Callable
from pathlib import Path

import psutil

from tests.processes import ROOT, Process

# What a worker that logs everything says of each sweep.
SWEPT = re.compile(r"tasks\.sweep\[.*\] succeeded")

# What a run on PostgreSQL says about its database is not meant for these.
OWN_SQLITE = {"DATABASE_URL": "", "OCTOSTORE_LOG_LEVEL": "WARNING"}


class Service(Process):
    """`manage.py serve` on a free port."""

    def __init__(self, data: Path, **environment: str) -> None:
        self.data = data
        super().__init__(
            [sys.executable, ROOT / "manage.py", "serve"],
            OWN_SQLITE | {"OCTOSTORE_DATA": str(data), "PORT": "0"} | environment,
            data.with_name(f"{data.name}-serve.log"),
        )

    def start(self, *, wait: bool = True) -> None:
        self.log.unlink(missing_ok=True)
        super().start(wait=wait)

    def is_ready(self) -> bool:
        return "serves on" in self.output()

    @property
    def url(self) -> str:
        found = re.findall(r"serves on (\S+)", self.output())
        assert found, self.output()
        url: str = found[-1]
        return url

    def family(self) -> list[psutil.Process]:
        """The runner, Valkey, the web process, the workers and the scheduler, once all are there."""
        runner = psutil.Process(self.pid)
        assert wait_until(lambda: len(runner.children(recursive=True)) == 5), runner.children(recursive=True)
        return [runner, *runner.children(recursive=True)]

    def child(self, words: str) -> psutil.Process:
        """The runner's own child whose command line has `words` in it, once there is one."""
        found: list[psutil.Process] = []

        def look() -> bool:
            found[:] = [child for child in psutil.Process(self.pid).children() if words in _command_line(child)]
            return bool(found)

        assert wait_until(look), self.output()
        return found[0]

    def sweeps(self) -> int:
        """How many sweeps the worker has told of; it does so at DEBUG."""
        return len(SWEPT.findall(self.output()))


def are_gone(processes: list[psutil.Process], *, seconds: float = 5) -> bool:
    _, alive = psutil.wait_procs(processes, timeout=seconds)
    return not any(_is_there(process) for process in alive)


def _command_line(process: psutil.Process) -> str:
    """Empty for one that has ended."""
    try:
        return " ".join(process.cmdline())
    except psutil.NoSuchProcess:
        return ""


def _is_there(process: psutil.Process) -> bool:
    """Not a zombie, nor one that went while it was looked at."""
    try:
        return process.status() != psutil.STATUS_ZOMBIE
    except psutil.NoSuchProcess:
        return False


def manage(command: str, *arguments: str, **environment: str) -> subprocess.CompletedProcess[str]:
    """Run a command of manage.py to its end."""
    return subprocess.run(
        [sys.executable, ROOT / "manage.py", command, *arguments],
        env=os.environ | OWN_SQLITE | environment,
        capture_output=True,
        text=True,
        timeout=30,
    )


def wait_until(true: Callable[[], bool], *, seconds: float = 5) -> bool:
    deadline = time.monotonic() + seconds
    while not true():
        if time.monotonic() > deadline:
            return False
        time.sleep(0.02)
    return True
