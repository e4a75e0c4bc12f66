"""Requests that go on without a thread: streams, and waits that enter their view again when woken."""

from __future__ import annotations

import asyncio
import time
from collections.abc import Awaitable, Callable, Coroutine, Iterator
from contextlib import contextmanager, suppress
from typing import Any, Protocol, TypeVar

from asgiref.typing import ASGISendCallable

from octostore.lib.errors import Unavailable
from octostore.live.hub import Hub
from octostore.live.tickets import StreamTicket, Ticket, Turn, WaitTicket
from octostore.live.topics import OnThread, Waiter
from octostore.server.body import ClientGone
from octostore.server.lanes import Overloaded


class Answered(Protocol):
    """What entering a view again brings, as far as a wait needs to know."""

    @property
    def ticket(self) -> Ticket | None: ...

    @property
    def undo(self) -> Callable[[], None] | None: ...


# Returns once the client has gone.
UntilGone = Callable[[], Coroutine[Any, Any, None]]
Parked = TypeVar("Parked", bound=Answered)


async def serve_stream(
    hub: Hub,
    ticket: StreamTicket,
    headers: list[tuple[bytes, bytes]],
    until_gone: UntilGone,
    send: ASGISendCallable,
    *,
    abort: Callable[[], None],
    close: Callable[[], None] | None,
) -> None:
    """Send the ticket's stream until its reader goes or it ends; gives the seat back.

    The end of the body is told by `close` where there is one.
    """
    try:
        with hub.stream(ticket, abort) as stream, watching(until_gone) as gone:
            gone.add_done_callback(lambda _: stream.end())
            await send({"type": "http.response.start", "status": 200, "headers": headers, "trailers": False})
            while piece := await stream.take():
                await send({"type": "http.response.body", "body": piece, "more_body": True})
            if close:
                close()
                await gone
            else:
                await send({"type": "http.response.body", "body": b"", "more_body": False})
    finally:
        ticket.give_back()


async def serve_wait(
    hub: Hub,
    ticket: WaitTicket,
    enter: Callable[[Turn], Awaitable[Parked]],
    on_thread: OnThread,
    until_gone: UntilGone,
) -> Parked:
    """Let the request enter again when it is first and woken, and when its wait is over; its answer.

    Raises ClientGone when the client went: then nothing is held for it, even if it had just won.
    """
    try:
        with hub.queue(ticket) as waiter, watching(until_gone) as gone:
            answer = await _enter_until_answered(hub, ticket, waiter, enter, gone)
            is_gone = gone.done()
        if not is_gone:
            return answer
        if answer.undo:
            # Where that fails too, the short first term is the bound.
            with suppress(Unavailable):
                await on_thread(answer.undo)
        raise ClientGone
    finally:
        ticket.give_back()


async def _enter_until_answered(
    hub: Hub, ticket: WaitTicket, waiter: Waiter, enter: Callable[[Turn], Awaitable[Parked]], gone: asyncio.Task[None]
) -> Parked:
    stopping = asyncio.create_task(hub.stopping.wait())
    try:
        while True:
            turn = await _next_turn(waiter, ticket.until, gone, stopping)
            try:
                answer = await enter(turn)
            except Overloaded:
                if turn is not Turn.WOKEN:
                    raise
                hub.tried(ticket.name, None)
                continue
            if not isinstance(answer.ticket, WaitTicket):
                return answer
            hub.tried(ticket.name, answer.ticket.state)
    finally:
        stopping.cancel()


async def _next_turn(waiter: Waiter, until: float, gone: asyncio.Task[None], stopping: asyncio.Task[Any]) -> Turn:
    woken = asyncio.create_task(waiter.turn.wait())
    try:
        left = max(until - time.monotonic(), 0)
        await asyncio.wait({woken, gone, stopping}, timeout=left, return_when=asyncio.FIRST_COMPLETED)
        if gone.done():
            raise ClientGone
        if stopping.done():
            return Turn.STOPPING
        if not woken.done():
            return Turn.OVER
        waiter.turn.clear()
        return Turn.WOKEN
    finally:
        woken.cancel()


@contextmanager
def watching(until_gone: UntilGone) -> Iterator[asyncio.Task[None]]:
    """A task that is done once the client has gone."""
    gone = asyncio.create_task(until_gone())
    try:
        yield gone
    finally:
        gone.cancel()
