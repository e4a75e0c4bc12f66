"""Children of one command: they start together, end together and never outlive it.

Where one ends by itself, the rest ends with it, unless they can do without: such a one is started again.
"""

from __future__ import annotations

import os
import signal
import subprocess
import sys
import time
from collections.abc import Callable, Sequence
from contextlib import ExitStack, suppress
from dataclasses import dataclass, field
from functools import partial
from pathlib import Path
from typing import Self, TextIO

from octostore.server.parent import die_with

TICK_SECONDS = 0.1
# Ten seconds in all are promised.
STOP_SECONDS = 7
STOP_LAST_SECONDS = 2
# What ended is missed for this long and its own start: under the minute within which all is back.
PAUSES_SECONDS = (1, 2, 4, 8, 16)
# Who lived for this long did not end for being started.
STEADY_SECONDS = 60


@dataclass(slots=True, kw_only=True)
class Child:
    """One program: how it is started, and its process."""

    name: str
    command: Sequence[str | Path]
    environment: dict[str, str] = field(repr=False)
    # Others lean on it, so it is asked to end when they have.
    ends_last: bool = False
    # The others do without it for a while, so it is started again when it ends.
    comes_back: bool = False
    # Descriptors that it gets, and what it reads on its standard input.
    inherits: Sequence[int] = ()
    given: bytes = field(default=b"", repr=False)
    cwd: Path | None = None
    # Where its output is appended; the parent's own without it.
    log: Path | None = None

    process: subprocess.Popen[bytes] = field(init=False, repr=False)
    _has_session: bool = field(init=False, default=False)
    _started_at: float = field(init=False, default=0)
    _returns_at: float | None = field(init=False, default=None)
    _pauses: int = field(init=False, default=0)

    def start(self) -> None:
        """Start it in a session of its own: Ctrl-C reaches the parent alone, which ends children in order."""
        with ExitStack() as stack:
            output = stack.enter_context(self.log.open("ab")) if self.log else None
            self.process = subprocess.Popen(
                self.command,
                env=os.environ | self.environment,
                cwd=self.cwd,
                stdin=subprocess.PIPE,
                stdout=output,
                stderr=output,
                pass_fds=self.inherits,
                start_new_session=True,
                preexec_fn=partial(die_with, os.getpid()),
            )
        self._has_session, self._started_at = True, time.monotonic()
        assert self.process.stdin is not None
        with suppress(BrokenPipeError), self.process.stdin as stdin:
            stdin.write(self.given)

    def come_back(self) -> None:
        """For one that has ended: start it again once its pause is over, which grows with each end that was early."""
        now = time.monotonic()
        if self._returns_at is None:
            self.end_session()
            if now - self._started_at > STEADY_SECONDS:
                self._pauses = 0
            self._plan("ended by itself with " + _in_words(self.process.returncode))
        elif now >= self._returns_at:
            self._returns_at = None
            try:
                self.start()
            except OSError as error:
                self._plan(f"cannot be started: {error.strerror}")

    def end_session(self) -> None:
        """End it, and whatever it started and left behind; once, as its number may be another's later."""
        if self._has_session:
            self._has_session = False
            with suppress(ProcessLookupError):
                os.killpg(self.process.pid, signal.SIGKILL)

    def _plan(self, why: str) -> None:
        pause = PAUSES_SECONDS[min(self._pauses, len(PAUSES_SECONDS) - 1)]
        self._pauses += 1
        self._returns_at = time.monotonic() + pause
        say(f"The {self.name} {why}; it is started again in {pause} s.", to=sys.stderr)


class Supervisor:
    """A context in which children run; leaving it ends them. Makes SIGINT, SIGTERM and SIGHUP end `watch`."""

    def __init__(self) -> None:
        self.children: list[Child] = []
        self.is_asked_to_stop = False

    def __enter__(self) -> Self:
        for number in (signal.SIGINT, signal.SIGTERM, signal.SIGHUP):
            # nohup means: live on when the terminal goes
            if number != signal.SIGHUP or signal.getsignal(number) != signal.SIG_IGN:
                signal.signal(number, self._on_signal)
        return self

    def __exit__(self, *_: object) -> None:
        _end([child for child in self.children if not child.ends_last], STOP_SECONDS)
        _end([child for child in self.children if child.ends_last], STOP_LAST_SECONDS)

    def start(self, child: Child) -> None:
        """Start `child`, to be watched and ended with the others."""
        child.start()
        self.children.append(child)

    def watch(self, on_tick: Callable[[], None]) -> int:
        """Block until a signal asks to stop (0), or a child ends that does not come back.

        Then it is that child's code, 128 + n where signal n ended it.
        """
        while not self.is_asked_to_stop:
            for child in self.children:
                code = child.process.poll()
                if code is None:
                    continue
                if not child.comes_back:
                    say(f"The {child.name} ended by itself with {_in_words(code)}; stopping the rest.", to=sys.stderr)
                    return code if code >= 0 else 128 - code
                child.come_back()
            on_tick()
            time.sleep(TICK_SECONDS)
        return 0

    def _on_signal(self, *_: object) -> None:
        self.is_asked_to_stop = True


def say(text: str, *, to: TextIO | None = None) -> None:
    """Tell the person who started this; that nobody reads any more is no reason to stop."""
    with suppress(OSError):
        print(text, file=to, flush=True)


def _end(children: list[Child], seconds: float) -> None:
    for child in children:
        child.process.terminate()
    deadline = time.monotonic() + seconds
    for child in children:
        with suppress(subprocess.TimeoutExpired):
            child.process.wait(max(0, deadline - time.monotonic()))
        child.end_session()
        child.process.wait()


def _in_words(code: int) -> str:
    if code >= 0:
        return f"code {code}"
    names: dict[int, str] = {number: number.name for number in signal.Signals}
    return f"signal {names.get(-code, -code)}"
