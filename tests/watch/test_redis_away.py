"""Without Redis a change made in another process is told within two seconds (G7)."""

from __future__ import annotations

import time
from collections.abc import Callable

from tests.elections.rooms import win
from tests.processes import Web
from tests.valkey import Valkey
from tests.watch.conftest import CROWD
from tests.watch.waiter import Waiter
from tests.watch.watcher import Watcher

TOLD_SECONDS = 2.0


def test_streams_and_waits_go_on(start_web: Callable[..., Web], valkey: Valkey, room: str) -> None:
    here, there = (start_web(REDIS_URL=valkey.url, **CROWD) for _ in range(2))
    with here.client() as client, Watcher(there.port, f"/elections/{room}/watch") as watcher:
        watcher.next()
        for befalls in (valkey.pause, valkey.stop, valkey.start):
            befalls()
            began = time.monotonic()
            leader_token = win(client, room)["leader_token"]
            assert watcher.next(TOLD_SECONDS + 1).at - began < TOLD_SECONDS
            with Waiter(there.port, room) as waiter:
                assert waiter.is_waiting(0.3)
                began = time.monotonic()
                client.resign(room, leader_token)
                answer = waiter.answer()
            assert answer.at - began < TOLD_SECONDS
            assert [watcher.next().leader for _ in range(2)] == [None, "waiter"]
            client.resign(room, answer.body["leader_token"])
            assert watcher.next().leader is None
