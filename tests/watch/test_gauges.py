"""How much is open at an instant is measured, in each process for itself."""

from __future__ import annotations

import re
import time
from collections.abc import Callable
from contextlib import ExitStack
from pathlib import Path

from tests.elections.rooms import win
from tests.http import Client
from tests.processes import Web
from tests.watch.conftest import Wait, Watch
from tests.watch.watcher import Watcher

SETTLE_SECONDS = 5.0


def measured(client: Client, *, pid: int | None = None) -> tuple[int, int]:
    """Open streams and waits, of one process among many by its id."""
    text = client.get("/metrics").text
    label = f'{{pid="{pid}"}}' if pid else ""
    found = [
        re.search(rf"^octostore_open_{what}{re.escape(label)} (\S+)$", text, re.M) for what in ("streams", "waits")
    ]
    streams, waits = (int(float(one[1])) if one else -1 for one in found)
    return streams, waits


def comes_to(client: Client, expected: tuple[int, int]) -> bool:
    """Whether that is soon measured: what was closed ends a moment later."""
    deadline = time.monotonic() + SETTLE_SECONDS
    while (found := measured(client)) != expected and time.monotonic() < deadline:
        time.sleep(0.02)
    return found == expected


def test_streams_and_waits_count_while_they_are_open(watch: Watch, wait: Wait, client: Client, room: str) -> None:
    assert comes_to(client, (0, 0))
    win(client, room)
    watchers = [watch(), watch()]
    waiter = wait()
    assert all(watcher.next().event == "state" for watcher in watchers)
    assert comes_to(client, (2, 1))
    watchers[0].close()
    waiter.close()
    assert comes_to(client, (1, 0))


def test_requests_that_open_nothing_count_nowhere(client: Client, room: str) -> None:
    assert comes_to(client, (0, 0))
    client.head(f"/elections/{room}/watch")
    client.get("/elections/short/watch")
    win(client, room)
    assert comes_to(client, (0, 0))


def test_a_killed_process_has_nothing_open(start_web: Callable[..., Web], tmp_path: Path, room: str) -> None:
    shared = tmp_path / "metrics"
    shared.mkdir()
    one, other = (start_web(PROMETHEUS_MULTIPROC_DIR=str(shared)) for _ in range(2))
    with ExitStack() as stack:
        client = stack.enter_context(other.client())
        for web in (one, one, other):
            watcher = stack.enter_context(Watcher(web.port, f"/elections/{room}/watch"))
            assert watcher.next().event == "state"
        assert (measured(client, pid=one.pid), measured(client, pid=other.pid)) == ((2, 0), (1, 0))
        gone = one.pid
        one.kill()
        assert (measured(client, pid=gone), measured(client, pid=other.pid)) == ((-1, -1), (1, 0))
