"""The stream of a page, as a script reads it."""

from __future__ import annotations

import socket
import time
from collections import deque
from typing import NamedTuple, Self

from octostore.teams.models import User
from tests.pages.browser import Browser
from tests.processes import Web
from tests.watch.frames import Parser


class Hint(NamedTuple):
    event: str
    data: str
    at: float


class Page:
    """An open page: asks for its stream and reads what comes; leaving the context closes it."""

    def __init__(self, web: Web, topics: str, user: User | None = None) -> None:
        self.browser = Browser()
        if user:
            self.browser.force_login(user, "allauth.account.auth_backends.AuthenticationBackend")
        cookie = "; ".join(f"{name}={one.value}" for name, one in self.browser.cookies.items())
        self._parser = Parser()
        self._hints: deque[Hint] = deque()
        self._socket = socket.create_connection(("127.0.0.1", web.port))
        head = f"GET /live?topics={topics} HTTP/1.1\r\nHost: x\r\nAccept: text/event-stream\r\nCookie: {cookie}\r\n\r\n"
        self._socket.sendall(head.encode())
        while self._parser.status is None:
            self._receive(10)

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()

    def close(self) -> None:
        self._socket.close()

    @property
    def status(self) -> int | None:
        return self._parser.status

    @property
    def headers(self) -> dict[str, str]:
        """Names in lower case."""
        return self._parser.headers

    def next(self, seconds: float = 10) -> Hint:
        """The next event; EOFError at the end, TimeoutError when none comes in time."""
        deadline = time.monotonic() + seconds
        while not self._hints:
            self._receive(deadline - time.monotonic())
        return self._hints.popleft()

    def next_change(self, seconds: float = 10) -> str:
        """What the next `changed` says."""
        return self.next_of("changed", seconds).data

    def next_of(self, event: str, seconds: float = 10) -> Hint:
        deadline = time.monotonic() + seconds
        while (hint := self.next(deadline - time.monotonic())).event != event:
            pass
        return hint

    def _receive(self, seconds: float) -> None:
        if self._parser.is_over:
            raise EOFError
        self._socket.settimeout(max(seconds, 0.001))
        piece = self._socket.recv(65536)
        if not piece:
            raise EOFError
        for block in self._parser.blocks(piece):
            if self.status != 200:
                continue
            fields = dict(line.partition(": ")[::2] for line in block.split("\n"))
            self._hints.append(Hint(fields["event"], fields["data"], time.monotonic()))
