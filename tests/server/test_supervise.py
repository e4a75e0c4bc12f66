"""A child the others can do without is started again, with pauses that grow; any other ends them all."""

from __future__ import annotations

import re
import signal
from collections.abc import Iterator
from pathlib import Path

import pytest

from octostore.server import supervise
from octostore.server.supervise import Child, Supervisor

# What is shown here does not depend on the database.
pytestmark = pytest.mark.only("sqlite")


@pytest.fixture(autouse=True)
def hurry(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(supervise, "TICK_SECONDS", 0.01)
    monkeypatch.setattr(supervise, "PAUSES_SECONDS", (0.01, 0.02, 0.03))


@pytest.fixture
def supervisor() -> Iterator[Supervisor]:
    before = {number: signal.getsignal(number) for number in (signal.SIGINT, signal.SIGTERM, signal.SIGHUP)}
    with Supervisor() as running:
        yield running
    assert all(child.process.poll() is not None for child in running.children)
    for number, handler in before.items():
        signal.signal(number, handler)


def shell(script: str, *, comes_back: bool) -> Child:
    return Child(name="child", command=["sh", "-c", script], environment={}, comes_back=comes_back)


def watch_until(supervisor: Supervisor, said: int, capsys: pytest.CaptureFixture[str]) -> str:
    """What the supervisor says on standard error, until that is `said` lines."""
    text = ""

    def listen() -> None:
        nonlocal text
        text += capsys.readouterr().err
        supervisor.is_asked_to_stop = text.count("\n") >= said

    assert supervisor.watch(listen) == 0
    return text


def test_pauses_grow_and_are_bounded(supervisor: Supervisor, capsys: pytest.CaptureFixture[str]) -> None:
    supervisor.start(shell("exit 3", comes_back=True))
    text = watch_until(supervisor, 5, capsys)
    assert text.startswith("The child ended by itself with code 3; it is started again in 0.01 s.\n")
    assert re.findall(r"in (\S+) s\.", text)[:5] == ["0.01", "0.02", "0.03", "0.03", "0.03"]


def test_pauses_begin_anew_after_a_steady_life(
    supervisor: Supervisor, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(supervise, "STEADY_SECONDS", 0)
    supervisor.start(shell("exit 3", comes_back=True))
    assert re.findall(r"in (\S+) s\.", watch_until(supervisor, 3, capsys))[:3] == ["0.01"] * 3


def test_one_that_cannot_be_started_is_tried_again(
    supervisor: Supervisor, capsys: pytest.CaptureFixture[str], tmp_path: Path
) -> None:
    program = tmp_path / "program"
    program.write_text('#!/bin/sh\nrm "$0"\n')
    program.chmod(0o700)
    supervisor.start(Child(name="child", command=[program], environment={}, comes_back=True))
    text = watch_until(supervisor, 3, capsys)
    assert text.count("The child cannot be started: No such file or directory; it is started again in ") == 2


def test_what_one_left_behind_ends_before_it_comes_back(
    supervisor: Supervisor, capsys: pytest.CaptureFixture[str], tmp_path: Path
) -> None:
    pids = tmp_path / "pids"
    supervisor.start(shell(f"sleep 60 & echo $! >> {pids}; exit 0", comes_back=True))
    watch_until(supervisor, 2, capsys)
    first = int(pids.read_text().split()[0])
    assert not Path(f"/proc/{first}/cmdline").exists() or not Path(f"/proc/{first}/cmdline").read_text()


@pytest.mark.parametrize(("script", "code"), [("exit 3", 3), ("exit 0", 0), ("kill -9 $$", 128 + 9)])
def test_the_end_of_any_other_ends_the_watch(supervisor: Supervisor, script: str, code: int) -> None:
    supervisor.start(shell("exit 1", comes_back=True))
    supervisor.start(shell("sleep 60", comes_back=True))
    supervisor.start(shell(f"sleep 0.1; {script}", comes_back=False))
    assert supervisor.watch(lambda: None) == code
