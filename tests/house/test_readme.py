"""The README's commands work as they are printed, and answer what it shows."""

from __future__ import annotations

import json
import re
import subprocess
from collections.abc import Callable, Iterator
from typing import Any

import pytest
from django.db.models import F

from octostore.leases.models import Lease
from tests.house.sources import ROOT
from tests.processes import Web

PRINTED = "http://127.0.0.1:8000"
_BLOCK = re.compile(r"^```(sh|json)\n(.*?)^```$", re.MULTILINE | re.DOTALL)
_WATCH = re.compile(r"^(curl -sN .*)$", re.MULTILINE)  # goes on until the reader has enough
_SLEEP = re.compile(r"sleep (\d+)\n")


def blocks() -> list[tuple[str, str]]:
    """The README's fenced blocks of commands that call a server, and of answers, in order."""
    found = _BLOCK.findall((ROOT / "README.md").read_text(encoding="utf-8"))
    return [(kind, text) for kind, text in found if kind == "json" or "curl " in text]


class Shell:
    """One shell for all blocks, as a reader types them into one terminal."""

    _END = "--end of block--"

    def __init__(self) -> None:
        self._bash = subprocess.Popen(
            ["bash", "-o", "pipefail"], stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True, cwd=ROOT
        )

    def run(self, commands: str) -> str:
        """What `commands` print; fails where one of them does."""
        assert self._bash.stdin
        assert self._bash.stdout
        self._bash.stdin.write(f"set -e\n{commands}\nset +e\necho; echo '{self._END}'\n")
        self._bash.stdin.flush()
        lines = iter(self._bash.stdout.readline, "")
        printed = ""
        for line in lines:
            if line.strip() == self._END:
                return printed
            printed += line
        raise AssertionError(f"a command failed in:\n{commands}")

    def close(self) -> None:
        self._bash.kill()
        self._bash.communicate()


@pytest.fixture
def shell() -> Iterator[Shell]:
    shell = Shell()
    yield shell
    shell.close()


def shape(value: Any) -> Any:
    """An answer without what differs each time: secrets, ids, numbers and instants by their type alone."""
    if isinstance(value, dict):
        fixed = {"status", "candidate_id", "code", "error", "ended", "end"}
        return {key: item if key in fixed else shape(item) for key, item in value.items()}
    return type(value).__name__


def test_the_commands_work_as_printed(shell: Shell, start_web: Callable[..., Web]) -> None:
    url = start_web().url
    shown = 0
    answer: Any = None
    for kind, text in blocks():
        if kind == "json":
            assert shape(answer) == shape(json.loads(text))
            shown += 1
            continue
        for seconds in _SLEEP.findall(text):
            Lease.objects.update(expires_at=F("expires_at") - int(seconds) * 1000)
        commands = _SLEEP.sub("", text).replace(PRINTED, url)
        answer = json.loads(shell.run(_WATCH.sub("", commands)))
        for watch in _WATCH.findall(commands):
            assert "event: state" in shell.run(f"timeout 1 {watch} || test $? = 124")
    assert "terms" in answer
    assert shown == 4
    assert Lease.objects.count() == 2
