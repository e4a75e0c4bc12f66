"""Children of one command: they start together, end together and never outlive it."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
import time
from collections.abc import Callable, Sequence
from contextlib import suppress
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from typing import IO, Self, TextIO

from octostore.server.parent import die_with

TICK_SECONDS = 0.1
# Ten seconds in all are promised.
STOP_SECONDS = 7
STOP_LAST_SECONDS = 2


@dataclass(frozen=True, slots=True)
class Child:
    """`ends_last`: others lean on it, so it is asked to end when they have."""

    name: str
    process: subprocess.Popen[bytes]
    ends_last: bool


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

    def start(
        self,
        name: str,
        command: Sequence[str | Path],
        *,
        environment: dict[str, str],
        ends_last: bool = False,
        inherits: Sequence[int] = (),
        cwd: Path | None = None,
        output: IO[bytes] | None = None,
        given: bytes = b"",
    ) -> Child:
        """Start `command`, with the descriptors in `inherits` and `given` on its standard input.

        In a session of its own, so that Ctrl-C reaches the parent alone, which ends children in order.
        """
        process = subprocess.Popen(
            command,
            env=os.environ | environment,
            cwd=cwd,
            stdin=subprocess.PIPE,
            stdout=output,
            stderr=output,
            pass_fds=inherits,
            start_new_session=True,
            preexec_fn=partial(die_with, os.getpid()),
        )
        child = Child(name, process, ends_last)
        self.children.append(child)
        assert process.stdin is not None
        with suppress(BrokenPipeError):
            process.stdin.write(given)
            process.stdin.close()
        return child

    def watch(self, on_tick: Callable[[], None]) -> int:
        """Block until a signal asks to stop (0) or a child ends (its code, 128 + n where signal n ended it)."""
        while not self.is_asked_to_stop:
            for child in self.children:
                code = child.process.poll()
                if code is not None:
                    say(f"The {child.name} ended by itself with {_in_words(code)}; stopping the rest.", to=sys.stderr)
                    return code if code >= 0 else 128 - code
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
        with suppress(ProcessLookupError):
            os.killpg(child.process.pid, signal.SIGKILL)  # whatever it started goes with it
        child.process.wait()


def _in_words(code: int) -> str:
    return f"code {code}" if code >= 0 else f"signal {signal.Signals(-code).name}"
