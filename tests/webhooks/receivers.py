"""Receivers on loopback that behave, and such that do not."""

from __future__ import annotations

import socket
import ssl
import struct
import threading
from collections.abc import Callable, Iterator
from contextlib import ExitStack, contextmanager, suppress
from dataclasses import dataclass, field

import trustme

Behaviour = Callable[[socket.socket, bytes], None]


@dataclass
class Receiver:
    """A server on loopback: what it was sent, and under which names it was asked for by TLS."""

    port: int
    requests: list[bytes] = field(default_factory=list)
    connections: int = 0
    names: list[str | None] = field(default_factory=list)

    def url(self, path: str = "/", *, host: str = "127.0.0.1", scheme: str = "http") -> str:
        return f"{scheme}://{host}:{self.port}{path}"


@contextmanager
def receiving(
    behaviour: Behaviour, *, tls: trustme.LeafCert | None = None, reads: bool = True, host: str = "127.0.0.1"
) -> Iterator[Receiver]:
    """A receiver that gives each connection, and the request on it, to `behaviour`.

    With `tls` it speaks TLS under that certificate; without `reads` it takes no request in.
    """
    server = socket.create_server((host, 0), family=socket.AF_INET6 if ":" in host else socket.AF_INET)
    receiver = Receiver(server.getsockname()[1])
    opened: list[socket.socket] = []
    threads: list[threading.Thread] = []

    def serve(connection: socket.socket) -> None:
        # What the caller breaks off shows on this side too, and is no fault here.
        with suppress(OSError), ExitStack() as stack:
            stack.enter_context(connection)
            if tls is not None:
                connection = stack.enter_context(_with_tls(connection, tls, receiver))
            opened.append(connection)
            request = _read_request(connection) if reads else b""
            receiver.requests.append(request)
            behaviour(connection, request)

    def accept() -> None:
        with suppress(OSError):
            while True:
                connection, _ = server.accept()
                receiver.connections += 1
                connection.settimeout(10)
                threads.append(threading.Thread(target=serve, args=(connection,)))
                threads[-1].start()

    accepting = threading.Thread(target=accept)
    accepting.start()
    try:
        yield receiver
    finally:
        server.shutdown(socket.SHUT_RDWR)
        accepting.join()
        server.close()
        for connection in opened:
            with suppress(OSError):
                connection.shutdown(socket.SHUT_RDWR)
        for thread in threads:
            thread.join()


def answering(status: str = "200 OK", *headers: str, body: bytes = b"") -> Behaviour:
    """Answers that, whole."""
    head = "\r\n".join([f"HTTP/1.1 {status}", *headers, f"Content-Length: {len(body)}"])

    def behave(connection: socket.socket, _: bytes) -> None:
        connection.sendall(head.encode() + b"\r\n\r\n" + body)

    return behave


def saying(raw: bytes) -> Behaviour:
    """Sends these bytes and closes."""

    def behave(connection: socket.socket, _: bytes) -> None:
        connection.sendall(raw)
        # Closing over what was not read would reset the connection.
        connection.shutdown(socket.SHUT_WR)
        while connection.recv(65_536):
            pass

    return behave


def refusing(raw: bytes) -> Behaviour:
    """Sends these bytes and closes over whatever was not read, which breaks the other side's writing off."""

    def behave(connection: socket.socket, _: bytes) -> None:
        connection.sendall(raw)
        connection.shutdown(socket.SHUT_WR)

    return behave


def dripping(head: bytes, drop: bytes, pause: float) -> Behaviour:
    """Sends `head`, then `drop` again and again with a pause after each, for ever."""

    def behave(connection: socket.socket, _: bytes) -> None:
        connection.sendall(head)
        connection.settimeout(pause)
        while True:
            connection.sendall(drop)
            with suppress(TimeoutError):
                if not connection.recv(1):
                    return

    return behave


def flooding(head: bytes, sent: list[int]) -> Behaviour:
    """Sends `head` and then a gigabyte, noting how much it got rid of."""

    def behave(connection: socket.socket, _: bytes) -> None:
        connection.sendall(head)
        count = 0
        try:
            while count < 1 << 30:
                count += connection.send(b"x" * 65_536)
        finally:
            sent.append(count)

    return behave


def resetting(connection: socket.socket, _: bytes) -> None:
    """Reads the request and then resets the connection."""
    connection.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, struct.pack("ii", 1, 0))


def silent(connection: socket.socket, _: bytes) -> None:
    """Says nothing until the other side has had enough."""
    while connection.recv(1):
        pass


def deaf(over: threading.Event) -> Behaviour:
    """Neither reads nor says anything until `over`."""

    def behave(_: socket.socket, __: bytes) -> None:
        over.wait(10)

    return behave


@contextmanager
def full() -> Iterator[tuple[str, int]]:
    """The address of a receiver that takes no more connections in, and refuses none."""
    with ExitStack() as stack:
        server = stack.enter_context(socket.create_server(("127.0.0.1", 0), backlog=0))
        for _ in range(3):
            waiting = stack.enter_context(socket.socket())
            waiting.setblocking(False)
            waiting.connect_ex(server.getsockname())
        yield server.getsockname()


def _with_tls(connection: socket.socket, certificate: trustme.LeafCert, receiver: Receiver) -> ssl.SSLSocket:
    context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
    certificate.configure_cert(context)

    def note(_: ssl.SSLObject, name: str | None, __: ssl.SSLContext) -> None:
        receiver.names.append(name)

    context.sni_callback = note
    return context.wrap_socket(connection, server_side=True)


def _read_request(connection: socket.socket) -> bytes:
    request = b""
    while b"\r\n\r\n" not in request:
        request += _more(connection)
    head, _, body = request.partition(b"\r\n\r\n")
    length = next(
        (int(line.split(b":")[1]) for line in head.split(b"\r\n") if line.lower().startswith(b"content-length:")), 0
    )
    while len(body) < length:
        body += _more(connection)
    return head + b"\r\n\r\n" + body


def _more(connection: socket.socket) -> bytes:
    if not (piece := connection.recv(65_536)):
        raise ConnectionAbortedError
    return piece
