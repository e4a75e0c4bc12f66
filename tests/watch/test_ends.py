"""How streams and waits end: by silence, by a reader that lags or is gone, by a server that stops."""

from __future__ import annotations

import os
import signal
import socket
import time
from collections.abc import Callable
from contextlib import ExitStack

import psutil

from tests.elections.rooms import win
from tests.http import Client
from tests.processes import Web
from tests.watch.conftest import CROWD
from tests.watch.deaf import deafen
from tests.watch.frames import KEEPALIVE
from tests.watch.waiter import Waiter
from tests.watch.watcher import Watcher

STARTED = (b"HTTP/1.1 200", b"event: state")


def open_streams(web: Web, room: str, how_many: int, *, buffer: int | None = None) -> list[socket.socket]:
    """Streams that nobody reads any further than their first frame; `buffer` bounds what the kernel takes in."""
    streams = []
    for _ in range(how_many):
        stream = socket.socket()
        if buffer:
            stream.setsockopt(socket.SOL_SOCKET, socket.SO_RCVBUF, buffer)
        stream.settimeout(10)
        stream.connect(("127.0.0.1", web.port))
        stream.sendall(f"GET /elections/{room}/watch HTTP/1.1\r\nHost: x\r\n\r\n".encode())
        streams.append(stream)
        seen = b""
        while not all(part in seen for part in STARTED):
            seen += stream.recv(4096)
    return streams


def connected(web: Web, clients: list[socket.socket]) -> int:
    """How many of `clients` the process still is connected with."""
    ports = {client.getsockname()[1] for client in clients}
    found = psutil.Process(web.pid).net_connections("tcp")
    return sum(one.laddr.port == web.port and bool(one.raddr) and one.raddr.port in ports for one in found)


class TestSilence:
    def test_is_broken_by_a_comment_and_betrays_who_is_gone(self, web: Web, client: Client, room: str) -> None:
        win(client, room, ttl_seconds=60)
        with ExitStack() as stack:
            watcher = stack.enter_context(Watcher(web.port, f"/elections/{room}/watch"))
            first = watcher.next()
            clients = [stack.enter_context(stream) for stream in open_streams(web, room, 20)]
            for _ in range(5):
                waiter = stack.enter_context(Waiter(web.port, room, wait_seconds=60))
                assert waiter.is_waiting(0.05)
                clients.append(waiter.socket)
            for gone in clients:
                deafen(gone)
            assert connected(web, clients) == 25
            comment = watcher.next(20)
            assert (comment.event, comment.comment) == ("", KEEPALIVE)
            assert 14.5 < comment.at - first.at < 17.5
            while connected(web, clients):
                assert time.monotonic() - first.at < 30
                time.sleep(0.05)
            assert connected(web, [watcher.socket]) == 1


class TestLag:
    def test_reader_that_takes_nothing_is_cut_and_delays_nobody(self, start_web: Callable[..., Web], room: str) -> None:
        web = start_web(OCTOSTORE_METADATA_MAX_CHARACTERS="16384", **CROWD)
        with ExitStack() as stack:
            client = stack.enter_context(web.client())
            leader_token = win(client, room, metadata="\N{GRINNING FACE}" * 16_000)["leader_token"]
            lagging = [stack.enter_context(stream) for stream in open_streams(web, room, 3, buffer=4096)]
            watcher = stack.enter_context(Watcher(web.port, f"/elections/{room}/watch"))
            watcher.next()
            assert connected(web, lagging) == 3
            began = time.monotonic()
            while connected(web, lagging):
                # Each renewal is a frame of 64 KB.
                client.renew(room, leader_token)
                assert watcher.next().leader == "atlas"
                assert time.monotonic() - began < 60
            assert connected(web, [watcher.socket]) == 1


class TestStop:
    def test_says_farewell_and_is_gone_whatever_is_open(self, start_web: Callable[..., Web], room: str) -> None:
        web = start_web(**CROWD)
        with ExitStack() as stack:
            won = win(stack.enter_context(web.client()), room)
            watchers = [stack.enter_context(Watcher(web.port, f"/elections/{room}/watch")) for _ in range(20)]
            for watcher in watchers:
                watcher.next()
            waiters = [stack.enter_context(Waiter(web.port, room, wait_seconds=60)) for _ in range(20)]
            assert all(waiter.is_waiting(0.02) for waiter in waiters)
            for stream in open_streams(web, room, 5, buffer=4096):
                deafen(stack.enter_context(stream))
            began = time.monotonic()
            os.kill(web.pid, signal.SIGTERM)
            for watcher in watchers:
                (frame,) = watcher.rest()
                assert (frame.event, frame.data) == ("bye", {"reason": "shutdown"})
                assert frame.at - began < 5
            for waiter in waiters:
                answer = waiter.answer()
                assert answer.told == (200, "follower")
                assert answer.body["leader"] == won["leader"]
                assert answer.at - began < 5
            web.stop()
            assert time.monotonic() - began < 10
