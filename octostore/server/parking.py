"""Requests that go on without a thread: streams, and waits that enter their view again when woken."""

from __future__ import annotations

import asyncio
import time
from collections.abc import Awaitable, Callable
from typing import Any, Protocol, TypeVar

from asgiref.typing import ASGIReceiveCallable, ASGISendCallable

from octostore.live.hub import Hub
from octostore.live.tickets import Turn, WaitTicket, WatchTicket
from octostore.live.topics import Waiter
from octostore.server.body import ClientGone

# A reader that takes nothing for this long, or that falls too far behind, is cut.
STUCK_SECONDS = 30.0


class Answered(Protocol):
    """What entering a view again brings, as far as a wait needs to know."""

    @property
    def ticket(self) -> WatchTicket | WaitTicket | None: ...

    @property
    def undo(self) -> Callable[[], None] | None: ...


Parked = TypeVar("Parked", bound=Answered)


async def serve_stream(
    hub: Hub,
    ticket: WatchTicket,
    headers: list[tuple[bytes, bytes]],
    receive: ASGIReceiveCallable,
    send: ASGISendCallable,
    abort: Callable[[], None],
) -> None:
    """Send the ticket's stream until its reader goes or it ends; gives the seat back."""
    try:
        with hub.stream(ticket) as stream:
            gone = asyncio.create_task(until_gone(receive))
            gone.add_done_callback(lambda _: stream.end())
            try:
                await send({"type": "http.response.start", "status": 200, "headers": headers, "trailers": False})
                while piece := await stream.take():
                    async with asyncio.timeout(STUCK_SECONDS):
                        await send({"type": "http.response.body", "body": piece, "more_body": True})
                await send({"type": "http.response.body", "body": b"", "more_body": False})
            except TimeoutError:
                abort()
            finally:
                gone.cancel()
    finally:
        ticket.give_back()


async def serve_wait(
    hub: Hub,
    ticket: WaitTicket,
    enter: Callable[[Turn], Awaitable[Parked]],
    on_thread: Callable[..., Awaitable[Any]],
    receive: ASGIReceiveCallable,
) -> Parked:
    """Let the request enter again when it is first and woken, and when its wait is over; its answer.

    Raises ClientGone when the client went: then nothing is held for it, even if it had just won.
    """
    gone = asyncio.create_task(until_gone(receive))
    stopping = asyncio.create_task(hub.stopping.wait())
    try:
        with hub.queue(ticket) as waiter:
            while True:
                turn = await _next_turn(waiter, ticket.until, gone, stopping)
                answer = await enter(turn)
                if not isinstance(answer.ticket, WaitTicket):
                    break
                hub.expect(answer.ticket)
        if gone.done():
            if answer.undo:
                await on_thread(answer.undo)
            raise ClientGone
        return answer
    finally:
        gone.cancel()
        stopping.cancel()
        ticket.give_back()


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


async def until_gone(receive: ASGIReceiveCallable) -> None:
    """Return when the client has closed its connection."""
    while (await receive())["type"] != "http.disconnect":
        pass
