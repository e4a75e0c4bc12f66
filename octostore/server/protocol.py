"""HTTP/1.1 on one connection: uvicorn's parser, with limits on what comes before a body.

uvicorn waits for headers as long as a client likes and keeps them however long they grow; here they
have a deadline and a size of their own. What is HTTP but broken is answered by the error envelope;
what is not HTTP is closed.
"""

from __future__ import annotations

import asyncio
import sys
from collections.abc import Callable
from functools import partial
from http import HTTPStatus
from typing import Any

import httptools
import msgspec
from uvicorn._types import ASGI3Application
from uvicorn.protocols.http.httptools_impl import HttpToolsProtocol, RequestResponseCycle

from octostore.lib.ids import mint_request_id

BAD_REQUEST = HTTPStatus.BAD_REQUEST
TOO_LARGE = HTTPStatus.REQUEST_HEADER_FIELDS_TOO_LARGE

# Among a scope's extensions: closes the connection without sending what is still buffered.
ABORT = "octostore.abort"
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
        self._too_large = False
        self._running: RequestResponseCycle | None = None

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
        try:
            self.parser.feed_data(data)
        except httptools.HttpParserUpgrade:
            pass  # another protocol was offered: it goes on as HTTP/1.1
        except httptools.HttpParserError:
            is_http = bool(self.url) or b" HTTP/1." in data
            self._refuse(TOO_LARGE if self._too_large else BAD_REQUEST, answers=is_http)
        else:
            if self._pending_bytes > self._header_max_bytes:
                self._refuse(TOO_LARGE)

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
        self._in_headers = True
        self._start_header_timer()

    def on_header(self, name: bytes, value: bytes) -> None:
        if self._in_headers:  # a trailer is no header
            super().on_header(name, value)

    def on_headers_complete(self) -> None:
        self._stop_header_timer()
        self._in_headers = False
        self._pending_bytes = 0
        size = len(self.url) + sum(len(name) + len(value) + 4 for name, value in self.headers)
        if size > self._header_max_bytes:
            self._too_large = True
            raise ValueError("the headers are too large")
        super().on_headers_complete()
        self.scope["extensions"] = {ABORT: {"call": self.transport.abort}}
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

    def _refuse(self, status: HTTPStatus, *, answers: bool = True) -> None:
        """End the connection: after the answer that is under way, else with one, where what came is HTTP."""
        if self.transport.is_closing():
            return
        if not self._is_idle and not self.cycle.more_body:
            self.cycle.keep_alive = False
            self.flow.pause_reading()
            return
        if answers:
            self.transport.write(_refusal(status))
        self.transport.close()


def _refusal(status: HTTPStatus) -> bytes:
    """The one answer that Django cannot make, since there is no request to give it."""
    request_id = mint_request_id()
    body = msgspec.json.encode(
        {
            "error": "The request is not valid",
            "code": "invalid_input",
            "details": f"not a sound HTTP/1.1 request: {status.phrase.lower()}",
            "request_id": request_id,
        }
    )
    head = (
        f"HTTP/1.1 {status.value} {status.phrase}\r\n"
        "content-type: application/json\r\n"
        f"content-length: {len(body)}\r\n"
        f"x-request-id: {request_id}\r\n"
        "cache-control: no-store\r\n"
        "connection: close\r\n\r\n"
    )
    return head.encode() + body
