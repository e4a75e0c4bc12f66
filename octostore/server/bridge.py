"""ASGI outside, WSGI inside: the event loop waits for clients, a few threads do the work.

A request gets a thread once its body is here, so clients that send slowly or not at all hold none.
Every answer is made by the WSGI application, the refusals too: it finds them in its environment.
"""

from __future__ import annotations

import asyncio
import sys
import time
from collections.abc import Callable
from dataclasses import dataclass
from functools import partial
from typing import Any
from wsgiref.types import WSGIApplication

from asgiref.typing import ASGIReceiveCallable, ASGISendCallable, HTTPScope, Scope

from octostore.lib.errors import Unavailable
from octostore.live.hub import hub
from octostore.live.tickets import StreamTicket, Ticket, TicketResponse, Turn, WaitTicket
from octostore.server.body import BodyTimeout, BodyTooLarge, ClientGone, discard_body, read_body
from octostore.server.environ import build_environ, refused, with_body
from octostore.server.lanes import Lane, Overloaded
from octostore.server.parking import UntilGone, serve_stream, serve_wait
from octostore.server.protocol import ABORT, HALF_CLOSED, UNFRAMED

# What a holder does to stay one, or to stop being one: no crowd of candidates may be in its way.
KEEPING_VERBS = {"renew", "resign", "release", "keepalive"}


@dataclass(frozen=True, slots=True)
class Answer:
    """A response, whole; `headers` as they go over the wire."""

    status: int
    headers: list[tuple[bytes, bytes]]
    body: bytes
    # What the request becomes instead of being answered.
    ticket: Ticket | None = None
    # Takes back what was done for a client that turns out to have gone.
    undo: Callable[[], None] | None = None


class Bridge:
    """An ASGI application around `application`. Lengths are seconds and bytes.

    `threads` do the work, and `keep_threads` beside them are kept for the verbs of holders.
    """

    def __init__(
        self,
        application: WSGIApplication,
        *,
        threads: int,
        keep_threads: int,
        live_threads: int,
        wait_seconds: float,
        body_max_bytes: int,
        body_timeout_seconds: float,
    ) -> None:
        self.application = application
        self.work = Lane("work", threads, kept=keep_threads, wait_seconds=wait_seconds)
        # Whether the process lives is asked most when all other threads wait for storage.
        self.health = Lane("health", 1, wait_seconds=wait_seconds)
        # Looking for streams, and trying for those who wait; there are no more of either than are let in.
        self.live = Lane("live", live_threads, wait_seconds=wait_seconds, queue_max=sys.maxsize)
        self.body_max_bytes = body_max_bytes
        self.body_timeout_seconds = body_timeout_seconds

    async def __call__(self, scope: Scope, receive: ASGIReceiveCallable, send: ASGISendCallable) -> None:
        if scope["type"] == "http":
            await self._serve(scope, receive, send)
        elif scope["type"] == "lifespan":
            await self._live(receive, send)
        else:
            await send({"type": "websocket.close", "code": 1008, "reason": None})

    async def _serve(self, scope: HTTPScope, receive: ASGIReceiveCallable, send: ASGISendCallable) -> None:
        extensions: Any = scope["extensions"]
        until_gone = partial(_until_gone, receive, extensions[HALF_CLOSED]["call"])
        try:
            answer, refusal = await self._answer(scope, receive, until_gone, time.monotonic())
        except ClientGone:
            # Where it has closed no more than its side, the connection is still there.
            extensions[ABORT]["call"]()
            await _until_gone(receive)
            return
        if isinstance(answer.ticket, StreamTicket):
            abort = extensions[ABORT]["call"]
            close = extensions[UNFRAMED]["call"]() if UNFRAMED in extensions else None
            await serve_stream(hub, answer.ticket, answer.headers, until_gone, send, abort=abort, close=close)
            return
        await _send(answer, send, closes=refusal is not None)
        if refusal in {"body_too_large", "body_timeout"}:
            await discard_body(receive)
        await send({"type": "http.response.body", "body": b"", "more_body": False})

    async def _answer(
        self, scope: HTTPScope, receive: ASGIReceiveCallable, until_gone: UntilGone, received_at: float
    ) -> tuple[Answer, str | None]:
        """What the application says, and why the connection must end after it, if it must. Raises ClientGone."""
        environ = build_environ(scope, received_at)
        body, refusal = b"", None
        try:
            try:
                body = await read_body(scope, receive, max_bytes=self.body_max_bytes, seconds=self.body_timeout_seconds)
                environ = with_body(environ, body)
            except BodyTooLarge:
                refusal = "body_too_large"
                environ = refused(environ, refusal)
            except BodyTimeout:
                refusal = "body_timeout"
                environ = refused(environ, refusal)
            lane = self.health if scope["path"] == "/health" else self.work
            answer = await lane.run(respond, self.application, environ, favoured=_is_keeping(scope))
            if isinstance(answer.ticket, WaitTicket):
                answer = await self._wait(answer.ticket, environ, body, until_gone)
        # These two answers touch no storage, so they can be made here: there is no thread to be had.
        except Overloaded:
            answer = respond(self.application, refused(environ, "overloaded"))
        except asyncio.CancelledError:
            # The server stops and has waited for this long enough; its thread may still commit.
            refusal = "stopping"
            answer = respond(self.application, refused(environ, refusal))
        return answer, refusal

    async def _wait(self, ticket: WaitTicket, environ: dict[str, Any], body: bytes, until_gone: UntilGone) -> Answer:
        async def enter(turn: Turn) -> Answer:
            again = with_body(environ, body) | {"octostore.turn": turn}
            # Whoever's wait is over is answered like any other request; who may win has a lane of their own.
            lane = self.live if turn is Turn.WOKEN else self.work
            return await lane.run(respond, self.application, again)

        return await serve_wait(hub, ticket, enter, self._look, until_gone)

    async def _look(self, call: Callable[..., Any], *arguments: object) -> Any:
        try:
            return await self.live.run(call, *arguments)
        except Overloaded:
            raise Unavailable("no thread was free") from None

    async def _live(self, receive: ASGIReceiveCallable, send: ASGISendCallable) -> None:
        await receive()
        hub.start(self._look)
        await send({"type": "lifespan.startup.complete"})
        await receive()
        hub.stop()
        for lane in (self.work, self.live, self.health):
            lane.close()
        await send({"type": "lifespan.shutdown.complete"})


async def _until_gone(receive: ASGIReceiveCallable, is_half_closed: Callable[[], bool] = lambda: False) -> None:
    """Until the client has closed its connection, or its side of it: both look alike to who waits for news."""
    while not is_half_closed() and (await receive())["type"] != "http.disconnect":
        pass


def _is_keeping(scope: HTTPScope) -> bool:
    return scope["method"] == "POST" and scope["path"].rpartition("/")[2] in KEEPING_VERBS


def respond(application: WSGIApplication, environ: dict[str, Any]) -> Answer:
    """Run the application once, on the calling thread, and collect its answer."""
    started: list[Any] = []

    def start_response(*arguments: Any) -> Callable[[bytes], object]:
        started[:] = arguments
        return bytes  # the write() of PEP 3333's early days; Django never calls it

    pieces = application(environ, start_response)
    # Django's handler returns its response itself, and with it what is no matter of WSGI.
    wanted = environ["REQUEST_METHOD"] != "HEAD"
    ticket = pieces.take() if wanted and isinstance(pieces, TicketResponse) else None
    undo = getattr(pieces, "undo", None)
    try:
        body = b"".join(pieces)
    finally:
        getattr(pieces, "close", lambda: None)()
    status = int(started[0][:3])
    headers = [(name.lower().encode("latin-1"), value.encode("latin-1")) for name, value in started[1]]
    if isinstance(pieces, TicketResponse):
        # Of no length yet, for HEAD too.
        return Answer(status, headers, b"", ticket=ticket)
    if status in {204, 304}:
        return Answer(status, [(name, value) for name, value in headers if name != b"content-length"], b"")
    if not any(name == b"content-length" for name, _ in headers):
        headers.append((b"content-length", str(len(body)).encode()))
    return Answer(status, headers, body, undo=undo)


async def _send(answer: Answer, send: ASGISendCallable, *, closes: bool) -> None:
    headers = [*answer.headers, (b"connection", b"close")] if closes else answer.headers
    await send({"type": "http.response.start", "status": answer.status, "headers": headers, "trailers": False})
    await send({"type": "http.response.body", "body": answer.body, "more_body": True})
