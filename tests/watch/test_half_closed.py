"""A client that closes its side of the connection looks like one that has gone: streams and waits end."""

from __future__ import annotations

import socket
import time
from collections.abc import Callable

import pytest

from tests.elections.rooms import kinds, win
from tests.http import Client
from tests.processes import Web
from tests.watch.conftest import Wait, Watch
from tests.watch.waiter import Waiter


def test_stream_ends_in_good_order(watch: Watch) -> None:
    watcher = watch()
    watcher.next()
    watcher.socket.shutdown(socket.SHUT_WR)
    assert watcher.rest(seconds=1) == []


def test_stream_of_one_that_said_so_at_once_ends_too(watch: Watch) -> None:
    watcher = watch()
    watcher.socket.shutdown(socket.SHUT_WR)
    assert len(watcher.rest(seconds=1)) <= 1


@pytest.mark.parametrize("version", ["1.0"])
def test_stream_that_ends_with_its_connection_ends(watch: Watch, version: str) -> None:
    watcher = watch(version=version)
    watcher.next()
    watcher.socket.shutdown(socket.SHUT_WR)
    assert watcher.rest(seconds=1) == []


def test_waiter_is_passed_over(wait: Wait, client: Client, room: str) -> None:
    leader_token = win(client, room)["leader_token"]
    ghost, waiter = wait("ghost"), wait()
    ghost.socket.shutdown(socket.SHUT_WR)
    with pytest.raises((EOFError, ConnectionResetError)):
        ghost.answer(seconds=1)
    resigned_at = time.monotonic()
    client.resign(room, leader_token)
    answer = waiter.answer()
    assert answer.told == (200, "leader")
    assert answer.at - resigned_at < 1


def test_wait_of_one_that_said_so_at_once_is_none(start_web: Callable[..., Web], room: str, database: str) -> None:
    web = start_web()
    with web.client() as client:
        leader_token = win(client, room)["leader_token"]
        with Waiter(web.port, room, "ghost") as ghost:
            ghost.socket.shutdown(socket.SHUT_WR)
            with pytest.raises((EOFError, ConnectionResetError)):
                ghost.answer(seconds=1)
        client.resign(room, leader_token)
        assert client.campaign(room, "borea").json()["status"] == "leader"
    assert kinds(room) == ["acquired", "released", "acquired"]
    assert "ASGI" not in web.output()
