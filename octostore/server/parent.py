"""Processes that die with their parent, whatever ended it: the kernel sees to it."""

from __future__ import annotations

import ctypes
import os
import signal

_PR_SET_PDEATHSIG = 1
_prctl = getattr(ctypes.CDLL(None), "prctl", None)  # Linux alone has it


def die_with(parent: int, number: int = signal.SIGKILL) -> None:
    """Have this process sent the signal `number` when its parent, whose pid is `parent`, is gone."""
    if _prctl is None:
        return
    _prctl(_PR_SET_PDEATHSIG, number)
    if os.getppid() != parent:  # it went before the kernel was asked
        os.kill(os.getpid(), number)
