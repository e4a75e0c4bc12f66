"""Raw HTTP over a socket, for what no well-behaved client would send."""

from __future__ import annotations

import socket
import time
from dataclasses import dataclass


@dataclass(frozen=True)
class Response:
    status: int
    headers: dict[str, str]
    body: bytes


class Wire:
    """One connection. Every wait ends after `seconds` with TimeoutError."""

    def __init__(self, port: int, *, seconds: float = 10) -> None:
        self._socket = socket.create_connection(("127.0.0.1", port), timeout=seconds)
        self._received = b""

    def __enter__(self) -> Wire:
        return self

    def __exit__(self, *_: object) -> None:
        self._socket.close()

    def fileno(self) -> int:
        return self._socket.fileno()

    def send(self, *pieces: bytes, pause: float = 0) -> None:
        for piece in pieces:
            self._socket.sendall(piece)
            if pause:
                time.sleep(pause)

    def close_side(self) -> None:
        """Tell the server that nothing more will come; what it sends can still be read."""
        self._socket.shutdown(socket.SHUT_WR)

    def get(self, path: str, *, method: str = "GET", headers: str = "") -> Response:
        self.send(f"{method} {path} HTTP/1.1\r\nHost: x\r\n{headers}\r\n".encode())
        return self.response(has_body=method != "HEAD")

    def response(self, *, has_body: bool = True) -> Response:
        """The next response on this connection; its body must be framed by Content-Length."""
        while b"\r\n\r\n" not in self._received:
            self._receive()
        head, _, self._received = self._received.partition(b"\r\n\r\n")
        first, *lines = head.decode("latin-1").split("\r\n")
        headers = {name.lower(): value for name, _, value in (line.partition(": ") for line in lines)}
        size = int(headers.get("content-length", 0)) if has_body else 0
        while len(self._received) < size:
            self._receive()
        body, self._received = self._received[:size], self._received[size:]
        return Response(int(first.split()[1]), headers, body)

    def rest(self) -> bytes:
        """All that still comes until the server closes, which it must."""
        try:
            while piece := self._socket.recv(65536):
                self._received += piece
        except ConnectionError:
            pass  # closed with something of ours unread
        rest, self._received = self._received, b""
        return rest

    def _receive(self) -> None:
        piece = self._socket.recv(65536)
        if not piece:
            raise EOFError(f"closed after {self._received!r}")
        self._received += piece
