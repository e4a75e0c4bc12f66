"""One candidate that waits, on a connection of its own and without a thread."""

from __future__ import annotations

import json
import socket
import time
from dataclasses import dataclass
from typing import Any, Self

from tests.http import strict_json
from tests.watch.frames import Parser

PATIENCE_SECONDS = 10.0


@dataclass(frozen=True, slots=True, kw_only=True)
class Answer:
    """`at` is when it was here, by the monotonic clock."""

    status: int
    headers: dict[str, str]
    body: dict[str, Any]
    at: float

    @property
    def told(self) -> tuple[int, str]:
        """Status, and what it says: `leader`, `follower` or an error's code."""
        return self.status, self.body.get("status") or self.body["code"]


class Waiter:
    """Has sent its campaign; leaving the context closes the connection."""

    def __init__(
        self,
        port: int,
        room: str,
        candidate_id: str = "waiter",
        *,
        wait_seconds: int | None = 30,
        key: str | None = None,
        headers: str = "",
        **body: Any,
    ) -> None:
        self.candidate_id = candidate_id
        self.socket = socket.create_connection(("127.0.0.1", port), timeout=PATIENCE_SECONDS)
        self._parser = Parser()
        content = json.dumps({"candidate_id": candidate_id, "wait_seconds": wait_seconds} | body)
        attempt = f"Idempotency-Key: {key}\r\n" if key else ""
        self.began = time.monotonic()
        self.socket.sendall(
            f"POST /elections/{room}/campaign HTTP/1.1\r\nHost: x\r\nContent-Type: application/json\r\n"
            f"Content-Length: {len(content)}\r\n{attempt}{headers}\r\n{content}".encode()
        )

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()

    def fileno(self) -> int:
        return self.socket.fileno()

    def close(self) -> None:
        self.socket.close()

    def answer(self, seconds: float = PATIENCE_SECONDS) -> Answer:
        """What it was told; TimeoutError when nothing comes in time."""
        deadline = time.monotonic() + seconds
        while (left := deadline - time.monotonic()) > 0:
            self.socket.settimeout(left)
            if found := self.receive():
                return found
        raise TimeoutError

    def receive(self) -> Answer | None:
        """Read once; the answer when it is complete."""
        piece = self.socket.recv(65536)
        if not piece:
            raise EOFError
        assert not [*self._parser.feed(piece, 0)]
        parser = self._parser
        if parser.status is None or len(parser.body) < int(parser.headers["content-length"]):
            return None
        return Answer(status=parser.status, headers=parser.headers, body=strict_json(parser.body), at=time.monotonic())

    def is_waiting(self, seconds: float) -> bool:
        """Whether no answer comes for so long."""
        self.socket.settimeout(seconds)
        try:
            self.socket.recv(1, socket.MSG_PEEK)
        except TimeoutError:
            return True
        return False
