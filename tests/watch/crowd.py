"""A thousand watchers on one thread."""

from __future__ import annotations

import resource
import selectors
import socket
import time
from collections.abc import Sequence
from contextlib import suppress
from typing import Self

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
