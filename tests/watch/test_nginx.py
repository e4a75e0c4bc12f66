"""Streams and waits through Debian's nginx, as deploy/nginx.conf sets it up and as it is set up by nobody."""

from __future__ import annotations

import os
import signal
from collections.abc import Iterator
from contextlib import ExitStack

import pytest

from tests.elections.rooms import win
from tests.http import Client
from tests.processes import Web
from tests.valkey import Valkey
from tests.watch.frames import KEEPALIVE
from tests.watch.nginx import BINARY, Nginx
from tests.watch.waiter import Waiter
from tests.watch.watcher import Watcher

pytestmark = pytest.mark.skipif(BINARY is None, reason="nginx is not installed: apt-get install nginx-light")

PER_CLIENT = 12
GZIP = "Accept-Encoding: gzip\r\n"


@pytest.fixture(scope="module")
def proxied(database_url: str, session_valkey: Valkey, tmp_path_factory: pytest.TempPathFactory) -> Iterator[list[Web]]:
    """Two web processes that trust the proxy in front of them."""
    environment = {
        "DATABASE_URL": database_url,
        "REDIS_URL": session_valkey.url,
        "OCTOSTORE_TRUSTED_PROXY_HOPS": "1",
        "OCTOSTORE_STREAMS_MAX_PER_CLIENT": str(PER_CLIENT // 2),
    }
    with ExitStack() as stack:
        home = tmp_path_factory.mktemp("proxied")
        yield [stack.enter_context(Web(home, environment)) for _ in range(2)]


@pytest.fixture(scope="module")
def nginx(proxied: list[Web], tmp_path_factory: pytest.TempPathFactory) -> Iterator[Nginx]:
    with Nginx(tmp_path_factory.mktemp("nginx"), proxied) as running:
        yield running


@pytest.fixture(scope="module")
def bare(proxied: list[Web], tmp_path_factory: pytest.TempPathFactory) -> Iterator[Nginx]:
    with Nginx(tmp_path_factory.mktemp("bare"), proxied, bare=True) as running:
        yield running


@pytest.fixture
def client(database: str, proxied: list[Web]) -> Iterator[Client]:
    """Past the proxy."""
    with proxied[0].client() as client:
        yield client


def watch(nginx: Nginx, room: str, **asked: str) -> Watcher:
    return Watcher(nginx.port, f"/elections/{room}/watch", headers=GZIP, **asked)


class TestStreams:
    def test_come_at_once_and_as_they_are(self, nginx: Nginx, bare: Nginx, client: Client, room: str) -> None:
        with ExitStack() as stack:
            watchers = [stack.enter_context(watch(proxy, room)) for proxy in (nginx, bare) for _ in range(3)]
            for watcher in watchers:
                assert watcher.next().at - watcher.began < 1
                assert watcher.headers["content-type"] == "text/event-stream"
                assert "content-encoding" not in watcher.headers
                assert watcher.headers["cache-control"] == "no-cache, no-transform"
            for _ in range(3):
                leader_token = win(client, room)["leader_token"]
                assert [watcher.next(1).leader for watcher in watchers] == ["atlas"] * 6
                client.resign(room, leader_token)
                assert [watcher.next(1).leader for watcher in watchers] == [None] * 6

    @pytest.mark.parametrize("seconds", [15, pytest.param(120, marks=pytest.mark.soak)])
    def test_live_through_silence(self, nginx: Nginx, bare: Nginx, client: Client, room: str, seconds: int) -> None:
        with watch(nginx, room) as watcher, watch(bare, room) as other:
            first = [watcher.next(), other.next()][0]
            while (comment := watcher.next(17)).at - first.at < seconds - 1:
                assert comment.comment == KEEPALIVE
            win(client, room)
            assert watcher.next(1).leader == "atlas"
            while (frame := other.next(1)).comment:
                assert frame.comment == KEEPALIVE
            assert frame.leader == "atlas"

    def test_that_are_closed_are_closed_behind_it(self, nginx: Nginx, room: str, database: str) -> None:
        for _ in range(3 * PER_CLIENT):
            with watch(nginx, room) as watcher:
                assert watcher.status == 200
                watcher.next()


class TestWaits:
    def test_win_at_once(self, nginx: Nginx, client: Client, room: str) -> None:
        leader_token = win(client, room)["leader_token"]
        with Waiter(nginx.port, room) as waiter:
            assert waiter.is_waiting(0.3)
            client.resign(room, leader_token)
            assert waiter.answer(1).told == (200, "leader")

    def test_end_with_their_clients(self, nginx: Nginx, client: Client, room: str) -> None:
        leader_token = win(client, room)["leader_token"]
        with Waiter(nginx.port, room, "ghost") as ghost, Waiter(nginx.port, room) as waiter:
            assert ghost.is_waiting(0.3)
            assert waiter.is_waiting(0.1)
            ghost.close()
            client.resign(room, leader_token)
            answer = waiter.answer(2)
            assert answer.body["leader"]["candidate_id"] == "waiter"


class TestTrust:
    def test_invented_addresses_share_the_seats_of_their_inventor(
        self, nginx: Nginx, client: Client, room: str
    ) -> None:
        with ExitStack() as stack:
            statuses = []
            for number in range(PER_CLIENT + 1):
                forged = f"X-Forwarded-For: 192.0.2.{number}\r\n"
                watcher = Watcher(nginx.port, f"/elections/{room}/watch", headers=forged)
                statuses.append(stack.enter_context(watcher).status)
            assert 429 in statuses


class TestRestart:
    @pytest.fixture
    def stopping(self, proxied: list[Web]) -> Iterator[Web]:
        yield proxied[0]
        proxied[0].stop()
        proxied[0].start()

    def test_reader_goes_on_at_another_process(
        self, nginx: Nginx, stopping: Web, proxied: list[Web], database: str, room: str
    ) -> None:
        with proxied[1].client() as client, ExitStack() as stack:
            leader_token = win(client, room)["leader_token"]
            watchers = [stack.enter_context(watch(nginx, room)) for _ in range(4)]
            seen = [watcher.next() for watcher in watchers]
            os.kill(stopping.pid, signal.SIGTERM)
            told = [is_told_to_go(watcher) for watcher in watchers]
            assert any(told)
            assert not all(told)
            stopping.stop()
            client.resign(room, leader_token)
            with watch(nginx, room, last_event_id=seen[0].id or "") as resumed:
                assert (missed := resumed.next()).n == seen[0].n + 1
                assert missed.leader is None


def is_told_to_go(watcher: Watcher) -> bool:
    try:
        return watcher.next(2).event == "bye"
    except TimeoutError:
        return False
