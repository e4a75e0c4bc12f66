"""One watcher on a connection of its own."""

from __future__ import annotations

import socket
import time
from collections import deque
from typing import Self

from tests.watch.frames import Frame, Parser

PATIENCE_SECONDS = 10.0


class Watcher:
    """Asks for `path` and reads what comes; leaving the context closes the connection."""

    def __init__(
        self,
        port: int,
        path: str,
        *,
        last_event_id: str | None = None,
        headers: str = "",
        method: str = "GET",
        version: str = "1.1",
    ) -> None:
        self.socket = socket.create_connection(("127.0.0.1", port), timeout=PATIENCE_SECONDS)
        self._parser = Parser()
        self._frames: deque[Frame] = deque()
        resume = "" if last_event_id is None else f"Last-Event-ID: {last_event_id}\r\n"
        head = f"{method} {path} HTTP/{version}\r\nHost: x\r\nAccept: text/event-stream\r\n{resume}{headers}\r\n"
        self.began = time.monotonic()
        self.socket.sendall(head.encode("latin-1"))

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()

    def close(self) -> None:
        self.socket.close()

    @property
    def status(self) -> int:
        while self._parser.status is None:
            self._receive(PATIENCE_SECONDS)
        return self._parser.status

    @property
    def headers(self) -> dict[str, str]:
        """Names in lower case."""
        assert self.status
        return self._parser.headers

    def next(self, seconds: float = PATIENCE_SECONDS) -> Frame:
        """The next frame or comment; TimeoutError when none comes in time, EOFError at the end."""
        deadline = time.monotonic() + seconds
        while not self._frames:
            self._receive(deadline - time.monotonic())
        return self._frames.popleft()

    def next_change(self, seconds: float = PATIENCE_SECONDS) -> Frame:
        """The next frame with an id."""
        while (frame := self.next(seconds)).id is None:
            pass
        return frame

    def is_silent(self, seconds: float) -> bool:
        """Whether nothing comes for so long."""
        try:
            self._frames.appendleft(self.next(seconds))
        except TimeoutError:
            return True
        return False

    def rest(self, seconds: float = PATIENCE_SECONDS) -> list[Frame]:
        """All that comes until the stream ends, which it must."""
        frames = []
        try:
            while True:
                frames.append(self.next(seconds))
        except EOFError:
            return frames

    def answer(self) -> bytes:
        """The body of an answer that is no stream."""
        size = int(self.headers["content-length"])
        while len(self._parser.body) < size:
            self._receive(PATIENCE_SECONDS)
        return self._parser.body

    def _receive(self, seconds: float) -> None:
        if seconds <= 0:
            raise TimeoutError
        if self._parser.is_over:
            raise EOFError
        self.socket.settimeout(seconds)
        piece = self.socket.recv(65536)
        self._frames.extend(self._parser.feed(piece, time.monotonic()))
        if not piece and not self._frames:
            raise EOFError
