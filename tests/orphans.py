"""Children that never outlive the test run, however it ends."""

from __future__ import annotations

import ctypes
import signal
import socket
from collections.abc import Callable

_PR_SET_PDEATHSIG = 1
_libc = ctypes.CDLL(None, use_errno=True)


def dies_with_parent(with_signal: int = signal.SIGKILL) -> Callable[[], None]:
    """A `preexec_fn` that has the kernel send the child `with_signal` when its parent is gone."""

    def ask_kernel() -> None:
        _libc.prctl(_PR_SET_PDEATHSIG, with_signal)

    return ask_kernel


def free_port() -> int:
    """A loopback TCP port that nobody listens on at this instant."""
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        port: int = probe.getsockname()[1]
    return port
