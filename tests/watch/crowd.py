"""A thousand watchers on one thread, and who gives them something to hear."""

from __future__ import annotations

import json
import resource
import selectors
import socket
import time
from collections.abc import Sequence
from contextlib import suppress
from typing import Any, Self

from tests.watch.frames import Parser

OPENING_SECONDS = 60


class Crowd:
    """`each` streams of each of `rooms`; all have their first frame when the context begins."""

    def __init__(self, port: int, rooms: Sequence[str], each: int) -> None:
        self._selector = selectors.DefaultSelector()
        self.sockets: dict[socket.socket, str] = {}
        self._seen: dict[socket.socket, bytes] = {}
        soft, hard = resource.getrlimit(resource.RLIMIT_NOFILE)
        resource.setrlimit(resource.RLIMIT_NOFILE, (max(soft, min(hard, 65_536)), hard))
        for room in rooms:
            for _ in range(each):
                stream = socket.create_connection(("127.0.0.1", port), timeout=OPENING_SECONDS)
                stream.sendall(f"GET /elections/{room}/watch HTTP/1.1\r\nHost: x\r\n\r\n".encode())
                stream.setblocking(False)
                self._selector.register(stream, selectors.EVENT_READ)
                self.sockets[stream] = room

    def __enter__(self) -> Self:
        self.arrivals(b"event: state", seconds=OPENING_SECONDS)
        return self

    def __exit__(self, *_: object) -> None:
        self.close()

    def close(self) -> None:
        self._selector.close()
        for stream in self.sockets:
            stream.close()

    def arrivals(self, text: bytes, *, seconds: float = 30) -> dict[socket.socket, float]:
        """When each was sent `text`, counted from this call on; fails where that lasts longer than `seconds`."""
        deadline = time.monotonic() + seconds
        self._seen = dict.fromkeys(self.sockets, b"")
        arrived: dict[socket.socket, float] = {}
        while len(arrived) < len(self.sockets):
            assert time.monotonic() < deadline, f"{len(arrived)} of {len(self.sockets)} were told {text!r}"
            for key, _ in self._selector.select(1):
                stream = key.fileobj
                assert isinstance(stream, socket.socket)
                with suppress(BlockingIOError):
                    self._seen[stream] += stream.recv(65536)
                if stream not in arrived and text in self._seen[stream]:
                    arrived[stream] = time.monotonic()
        return arrived

    def drain(self) -> None:
        """Forget what has come so far."""
        while ready := self._selector.select(0.2):
            for key, _ in ready:
                assert isinstance(key.fileobj, socket.socket)
                key.fileobj.recv(65536)


class Caller:
    """Asks without waiting for the answer, so that nothing else happens until all have heard."""

    def __init__(self, port: int, room: str) -> None:
        self._socket = socket.create_connection(("127.0.0.1", port), timeout=10)
        self._room = room
        self._leader_token: str | None = None

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self._socket.close()

    def send(self, verb: str, **body: str) -> None:
        content = json.dumps(body)
        self._socket.sendall(
            f"POST /elections/{self._room}/{verb} HTTP/1.1\r\nHost: x\r\nContent-Type: application/json\r\n"
            f"Content-Length: {len(content)}\r\n\r\n{content}".encode()
        )

    def change_reaches_all(self, crowd: Crowd) -> float:
        """Seconds from sending a campaign, or a resignation, to the last of the crowd that hears of it."""
        began = time.monotonic()
        if self._leader_token:
            self.send("resign", leader_token=self._leader_token)
            last = max(crowd.arrivals(b'"vacant"').values())
        else:
            self.send("campaign", candidate_id="atlas")
            last = max(crowd.arrivals(b'"leader"').values())
        self._leader_token = self.answer().get("leader_token")
        return last - began

    def answer(self) -> dict[str, Any]:
        parser = Parser()
        while parser.status is None or len(parser.body) < int(parser.headers["content-length"]):
            assert not [*parser.feed(self._socket.recv(65536), 0)]
        assert parser.status == 200, parser.body
        found: dict[str, Any] = json.loads(parser.body)
        return found
