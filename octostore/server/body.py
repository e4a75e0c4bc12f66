"""Reading a request's body on the event loop: within a size, within a time, holding no thread."""

from __future__ import annotations

import asyncio
from contextlib import suppress

from asgiref.typing import ASGIReceiveCallable, HTTPScope

# Closing on a client that still sends would reset the connection, and its answer could be lost with it.
LINGER_SECONDS = 1
LINGER_BYTES = 262_144


class BodyTooLarge(Exception):
    """The body is, or says it is, larger than allowed; some of it was not read."""


class BodyTimeout(Exception):
    """The body was not complete in time."""


class ClientGone(Exception):
    """The client closed the connection before its request was complete."""


async def read_body(scope: HTTPScope, receive: ASGIReceiveCallable, *, max_bytes: int, seconds: float) -> bytes:
    """The whole body. Raises BodyTooLarge (before reading, where the client announces it), BodyTimeout, ClientGone."""
    if _announced_length(scope) > max_bytes:
        raise BodyTooLarge
    pieces: list[bytes] = []
    size, complete = 0, False
    try:
        async with asyncio.timeout(seconds):
            while not complete:
                piece, complete = await _receive_piece(receive)
                size += len(piece)
                if size > max_bytes:
                    raise BodyTooLarge
                pieces.append(piece)
    except TimeoutError:
        raise BodyTimeout from None
    return b"".join(pieces)


async def discard_body(receive: ASGIReceiveCallable) -> None:
    """Read and forget what the client of a refused request still sends, a little and for a second."""
    size, complete = 0, False
    with suppress(TimeoutError, ClientGone):
        async with asyncio.timeout(LINGER_SECONDS):
            while not complete and size < LINGER_BYTES:
                piece, complete = await _receive_piece(receive)
                size += len(piece)


async def _receive_piece(receive: ASGIReceiveCallable) -> tuple[bytes, bool]:
    message = await receive()
    if message["type"] != "http.request":
        raise ClientGone
    return message["body"], not message["more_body"]


def _announced_length(scope: HTTPScope) -> int:
    # The parser has seen to it that there is at most one, and that it is a number.
    return next((int(value) for name, value in scope["headers"] if name == b"content-length"), 0)
