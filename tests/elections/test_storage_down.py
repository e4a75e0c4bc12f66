"""Storage that does not answer within the bounded wait: 503, an unknown outcome, and back by itself."""

from __future__ import annotations

import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager

import httpx
import pytest
from django.db import connection
from pytest_django.fixtures import Settings

from tests.elections.rooms import told, win
from tests.http import Client
from tests.leases.outside import outside
from tests.players import SPACE

WAIT_SECONDS = 0.2


@pytest.fixture(autouse=True)
def short_wait(database: str, settings: Settings, monkeypatch: pytest.MonkeyPatch) -> Iterator[None]:
    """Connections of this test wait for locks no longer than WAIT_SECONDS."""
    settings.STORAGE_WAIT_SECONDS = 1
    options = connection.settings_dict["OPTIONS"]
    if database == "sqlite":
        monkeypatch.setitem(options, "timeout", WAIT_SECONDS)
    else:
        monkeypatch.setitem(options, "options", f"-c lock_timeout={round(WAIT_SECONDS * 1000)}")
    connection.close()
    yield
    connection.close()


@contextmanager
def locked(room: str) -> Iterator[None]:
    """Somebody else holds the room's row; on SQLite, the whole file."""
    with outside() as execute:
        if connection.vendor == "sqlite":
            execute("BEGIN IMMEDIATE", ())
        else:
            execute("BEGIN", ())
            execute("SELECT 1 FROM leases_lease WHERE space = %s AND name = %s FOR UPDATE", (SPACE, room))
        yield
        execute("ROLLBACK", ())


def unavailable(send: Callable[[], httpx.Response]) -> None:
    began = time.monotonic()
    answer = send()
    assert told(answer) == (503, "unavailable")
    assert int(answer.headers["Retry-After"]) >= 1
    assert time.monotonic() - began < 5


def test_writes_are_unavailable_and_change_nothing(client: Client, room: str) -> None:
    won = win(client, room, ttl_seconds=300)
    with locked(room):
        unavailable(lambda: client.renew(room, won["leader_token"]))
        unavailable(lambda: client.resign(room, won["leader_token"]))
    assert client.room(room).json()["leader"] == won["leader"]
    assert client.renew(room, won["leader_token"]).status_code == 200


def test_a_campaign_is_unavailable_and_can_be_retried(client: Client, room: str, key: str) -> None:
    client.resign(room, win(client, room)["leader_token"])
    with locked(room):
        unavailable(lambda: client.campaign(room, "atlas", key=key))
    win(client, room, key=key)


def test_reading_and_losing_wait_for_nobody(client: Client, room: str) -> None:
    won = win(client, room)
    with locked(room):
        assert client.room(room).json()["leader"] == won["leader"]
        assert client.campaign(room, "borea").json()["status"] == "follower"
        assert client.get(f"/elections/{room}/terms/1").json()["status"] == "superseded"
