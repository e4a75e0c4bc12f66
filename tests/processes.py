"""Real web processes for tests, with their clocks, pauses and deaths."""

from __future__ import annotations

import importlib.util
import os
import signal
import subprocess
import sys
import time
from collections.abc import Sequence
from pathlib import Path
from typing import Self

import httpx

from tests.http import Client
from tests.orphans import dies_with_parent, free_port

ROOT = Path(__file__).resolve().parent.parent
START_SECONDS = 30
STOP_SECONDS = 15


class Process:
    """A child that dies with the test run, whose output goes to `log`."""

    def __init__(self, command: Sequence[str | Path], environment: dict[str, str], log: Path) -> None:
        self.command, self.environment, self.log = command, environment, log
        self._process: subprocess.Popen[bytes] | None = None

    def __enter__(self) -> Self:
        self.start()
        return self

    def __exit__(self, *_: object) -> None:
        self.close()

    @property
    def pid(self) -> int:
        assert self._process is not None, "the process was never started"
        return self._process.pid

    @property
    def exit_code(self) -> int | None:
        return self._process.poll() if self._process else None

    def whole_environment(self) -> dict[str, str]:
        return os.environ | self.environment

    def output(self) -> str:
        return self.log.read_text(errors="replace") if self.log.exists() else ""

    def start(self, *, wait: bool = True) -> None:
        with self.log.open("ab") as log:
            self._process = subprocess.Popen(
                self.command,
                env=self.whole_environment(),
                cwd=ROOT,
                stdin=subprocess.DEVNULL,
                stdout=log,
                stderr=log,
                preexec_fn=dies_with_parent(signal.SIGKILL),
            )
        if wait:
            self.wait_until_ready()

    def is_ready(self) -> bool:
        raise NotImplementedError

    def wait_until_ready(self, seconds: float = START_SECONDS) -> None:
        deadline = time.monotonic() + seconds
        while not self.is_ready():
            assert self.exit_code is None, f"{self.command} ended with {self.exit_code}:\n{self.output()[-1500:]}"
            assert time.monotonic() < deadline, f"{self.command} is not ready:\n{self.output()[-1500:]}"
            time.sleep(0.02)

    def stop(self) -> int:
        """SIGTERM; its exit code. Fails when it does not go in time."""
        assert self._process is not None
        self._process.terminate()
        return self._process.wait(STOP_SECONDS)

    def kill(self) -> None:
        """kill -9."""
        assert self._process is not None
        self._process.kill()
        self._process.wait(STOP_SECONDS)

    def pause(self) -> None:
        os.kill(self.pid, signal.SIGSTOP)

    def resume(self) -> None:
        os.kill(self.pid, signal.SIGCONT)

    def close(self) -> None:
        if self._process is not None and self._process.poll() is None:
            self.kill()


class WallClock:
    """The wall clock of one process under libfaketime; its monotonic clocks stay real."""

    def __init__(self, file: Path) -> None:
        spec = importlib.util.find_spec("libfaketime")
        if not spec or not spec.origin:
            raise ModuleNotFoundError("the package libfaketime is not installed")
        library = Path(spec.origin).parent / "vendor" / "libfaketime" / "src" / "libfaketime.so.1"
        self._file = file
        self.environment = {
            "LD_PRELOAD": str(library),
            "FAKETIME_TIMESTAMP_FILE": str(file),
            "FAKETIME_NO_CACHE": "1",
            "DONT_FAKE_MONOTONIC": "1",
            "FAKETIME_FORCE_MONOTONIC_FIX": "0",
        }
        self.step_to(0)

    def step_to(self, seconds: float) -> None:
        """From now on the process is `seconds` ahead of (or behind) real time."""
        draft = self._file.with_suffix(".draft")
        draft.write_text(f"{seconds:+.3f}\n")
        draft.replace(self._file)


class Web(Process):
    """One web process on a loopback port of its own."""

    def __init__(self, directory: Path, environment: dict[str, str], *, clock: WallClock | None = None) -> None:
        self.port = free_port()
        self.url = f"http://127.0.0.1:{self.port}"
        self.clock = clock
        super().__init__(
            [sys.executable, ROOT / "manage.py", "web", "--host", "127.0.0.1", "--port", str(self.port)],
            environment | (clock.environment if clock else {}),
            directory / f"web-{self.port}.log",
        )

    def client(self) -> Client:
        """A strict client with connections of its own."""
        return Client(self.url)

    def is_ready(self) -> bool:
        try:
            return httpx.get(f"{self.url}/ready", timeout=5, trust_env=False).status_code == 200
        except httpx.TransportError:
            return False
