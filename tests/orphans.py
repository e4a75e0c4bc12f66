"""Children and directories that do not outlive the test run for long, however it ends."""

from __future__ import annotations

import ctypes
import os
import shutil
import signal
import socket
import tempfile
from collections.abc import Callable
from pathlib import Path

import psutil

_PR_SET_PDEATHSIG = 1
_libc = ctypes.CDLL(None, use_errno=True)


def dies_with_parent(with_signal: int = signal.SIGKILL) -> Callable[[], None]:
    """A `preexec_fn` that has the kernel send the child `with_signal` when its parent is gone."""

    def ask_kernel() -> None:
        _libc.prctl(_PR_SET_PDEATHSIG, with_signal)

    return ask_kernel


def own_directory(kind: str, parent: str | None = None) -> Path:
    """A fresh directory named after this process; those of processes that were killed are removed."""
    where = Path(parent or tempfile.gettempdir())
    for left_over in where.glob(f"octostore-{kind}-*-*"):
        if not psutil.pid_exists(int(left_over.name.split("-")[2])):
            shutil.rmtree(left_over, ignore_errors=True)
    return Path(tempfile.mkdtemp(prefix=f"octostore-{kind}-{os.getpid()}-", dir=where))


def free_port() -> int:
    """A loopback TCP port that nobody listens on at this instant."""
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        port: int = probe.getsockname()[1]
    return port
