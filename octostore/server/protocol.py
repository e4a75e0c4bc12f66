"""HTTP/1.1 on one connection: uvicorn's parser, with limits on what comes before a body.

uvicorn waits for headers as long as a client likes and keeps them however long they grow; here they
have a deadline and a size of their own. What is HTTP but broken is answered by the error envelope;
what is not HTTP is closed.
"""

from __future__ import annotations

import asyncio
import sys
import time
from collections.abc import Callable
from functools import partial
from http import HTTPStatus
from typing import Any

import httptools
from uvicorn._types import ASGI3Application
from uvicorn.protocols.http.httptools_impl import HttpToolsProtocol, RequestResponseCycle

from octostore.server.methods import OTHER, read_opening
from octostore.server.refusals import refusal

BAD_REQUEST = HTTPStatus.BAD_REQUEST
TOO_LARGE = HTTPStatus.REQUEST_HEADER_FIELDS_TOO_LARGE

Fault = tuple[HTTPStatus, str]

# Among a scope's extensions: closes the connection without sending what is still buffered.
ABORT = "octostore.abort"
# Whether the client has closed its side; what it asked before that is still answered.
HALF_CLOSED = "octostore.half_closed"
# HTTP/1.0 knows no chunks: lets the body end with the connection instead, and returns what closes it.
UNFRAMED = "octostore.unframed"


class Protocol(HttpToolsProtocol):
    """`header_seconds` counts from the opening of the connection, later from a request's first byte.

    `header_max_bytes` bounds the request line and headers, and whatever else brings no body
    further (trailers, extensions of chunks).
    """

    url = b""

    def __init__(self, *arguments: Any, header_seconds: float, header_max_bytes: int, **named: Any) -> None:
        super().__init__(*arguments, **named)
        self._header_seconds = header_seconds
        self._header_max_bytes = header_max_bytes
        self._header_timer: asyncio.TimerHandle | None = None
        self._in_headers = True
        self._pending_bytes = 0
        # Why headers are refused that the parser lets pass.
        self._fault: Fault | None = None
        self._running: RequestResponseCycle | None = None
        # The next message's first bytes, while they do not tell yet how to read it.
        self._is_between = True
        self._opening = b""
        self._is_other_method = False
        self._began_at = time.monotonic()
        self._is_half_closed = False

    # --- what the transport says ---------------------------------------------------------------
    def connection_made(self, transport: asyncio.Transport) -> None:  # type: ignore[override]
        super().connection_made(transport)
        self._start_header_timer()

    def data_received(self, data: bytes) -> None:
        self._unset_keepalive_if_required()
        if self._is_idle:
            # Blank lines before a request are bytes that begin no message.
            self._start_header_timer()
        self._pending_bytes += len(data)
        if self._is_between:
            data = self._open(data)
        try:
            self.parser.feed_data(data)
        except httptools.HttpParserUpgrade:
            pass  # another protocol was offered: it goes on as HTTP/1.1
        except httptools.HttpParserError:
            is_http = bool(self.url) or b" HTTP/1." in data
            self._refuse(*(self._fault or [BAD_REQUEST]), answers=is_http)
        else:
            if self._pending_bytes > self._header_max_bytes:
                self._refuse(TOO_LARGE)

    def _open(self, data: bytes) -> bytes:
        """What the parser shall read now, of a message that is not begun yet for it."""
        if not self._opening:
            self._began_at = time.monotonic()
        self._opening = (self._opening + data).lstrip(b"\r\n")
        opening = read_opening(self._opening)
        if opening is None:
            self._start_header_timer()
            return b""
        self._opening = b""
        data, self._is_other_method = opening
        return data

    def eof_received(self) -> bool:  # type: ignore[override]
        """Whether to keep the connection for what is still to be sent: an answer to all that came whole."""
        if self._is_idle or self.cycle.more_body or not self._is_between or self._opening:
            return False
        self._is_half_closed, self.cycle.keep_alive = True, False
        if self._running is not None:
            self._running.message_event.set()  # it may wait to be told
        return True

    def connection_lost(self, exc: Exception | None) -> None:
        self._stop_header_timer()
        # uvicorn tells the latest request alone; one before it would write to a closed transport.
        if self._running is not None:
            self._running.disconnected = True
            self._running.message_event.set()
        super().connection_lost(exc)

    def _start_asgi_task(self, cycle: RequestResponseCycle, app: ASGI3Application) -> None:
        self._running = cycle
        super()._start_asgi_task(cycle, app)

    # --- what the parser says ------------------------------------------------------------------
    def on_message_begin(self) -> None:
        super().on_message_begin()
        self._in_headers, self._is_between = True, False
        self._start_header_timer()

    def on_header(self, name: bytes, value: bytes) -> None:
        if self._in_headers:  # a trailer is no header
            super().on_header(name, value.strip(b" \t"))

    def on_headers_complete(self) -> None:
        self._stop_header_timer()
        self._in_headers = False
        self._pending_bytes = 0
        self._fault = fault_of(self.url, self.headers, self.parser.get_http_version(), self._header_max_bytes)
        if self._fault:
            raise ValueError("the headers are not sound")
        super().on_headers_complete()
        if self._is_other_method:
            self._is_other_method, self.scope["method"] = False, OTHER
        self.scope["extensions"] = {
            ABORT: {"call": self.transport.abort},
            HALF_CLOSED: {"call": lambda: self._is_half_closed},
        }
        if self.scope["http_version"] == "1.0":
            self.scope["extensions"][UNFRAMED] = {"call": partial(self._unframe, self.cycle)}

    def _unframe(self, cycle: RequestResponseCycle) -> Callable[[], None]:
        cycle.chunked_encoding, cycle.expected_content_length = False, sys.maxsize
        return self.transport.close

    def on_body(self, body: bytes) -> None:
        self._pending_bytes = 0
        super().on_body(body)

    def on_message_complete(self) -> None:
        self._pending_bytes = 0
        self._is_between = True
        super().on_message_complete()

    # --- limits --------------------------------------------------------------------------------
    @property
    def _is_idle(self) -> bool:
        return self.cycle is None or self.cycle.response_complete

    def _start_header_timer(self) -> None:
        if self._header_timer is None:
            self._header_timer = self.loop.call_later(self._header_seconds, self._on_header_timer)

    def _stop_header_timer(self) -> None:
        if self._header_timer is not None:
            self._header_timer.cancel()
            self._header_timer = None

    def _on_header_timer(self) -> None:
        self._header_timer = None
        if self._is_idle:
            self.transport.close()
        else:  # it was sent ahead: closing now would lose the answer to an earlier request
            self._start_header_timer()

    def _refuse(self, status: HTTPStatus, why: str = "", *, answers: bool = True) -> None:
        """End the connection: after the answer that is under way, else with one, where what came is HTTP."""
        if self.transport.is_closing():
            return
        if not self._is_idle and not self.cycle.more_body:
            self.cycle.keep_alive = False
            self.flow.pause_reading()
            return
        if answers:
            method = OTHER if self._is_other_method or not self.url else self.parser.get_method().decode("ascii")
            self.transport.write(refusal(status, why, method, time.monotonic() - self._began_at))
        self.transport.close()


def fault_of(url: bytes, headers: list[tuple[bytes, bytes]], version: str, max_bytes: int) -> Fault | None:
    """What the parser lets pass and HTTP does not."""
    if len(url) + sum(len(name) + len(value) + 4 for name, value in headers) > max_bytes:
        return TOO_LARGE, ""
    hosts = sum(name == b"host" for name, _ in headers)
    if hosts > 1 or (version == "1.1" and not hosts):
        return BAD_REQUEST, "Host must be there, once"
    # A body that was coded otherwise before it was cut into chunks would be taken for what it is not.
    codings = [value.lower() for name, value in headers if name == b"transfer-encoding"]
    if codings and (codings != [b"chunked"] or version == "1.0"):
        return BAD_REQUEST, "of transfer codings chunked alone is known, in HTTP/1.1"
    return None
