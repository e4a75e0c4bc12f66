"""What an ordinary view answers when its request should become a stream or a wait.

The view has done all a view does (authentication, permission, budgets, errors); the server in front
takes the ticket and goes on without a thread.
"""

from __future__ import annotations

import enum
from collections.abc import Callable
from dataclasses import dataclass
from datetime import timedelta
from typing import Protocol

from django.http import HttpResponse

from octostore.leases.models import LeaseEvent
from octostore.leases.outcomes import Delayed, Held, Revision, Vacant
from octostore.live.hints import Name

State = Held | Delayed | Vacant

# Never compressed, never buffered, never stored: proxies hold streams back otherwise.
STREAM_HEADERS = {"Cache-Control": "no-cache, no-transform", "X-Accel-Buffering": "no"}


class Turn(enum.Enum):
    """Why a parked request enters its view again."""

    WOKEN = "woken"
    OVER = "over"
    STOPPING = "stopping"


class Encoder(Protocol):
    """A product's way to put a name's news into frames."""

    def event(self, event: LeaseEvent) -> bytes:
        """A change, with its id."""

    def state(self, state: State, *, kind: str = "state", with_id: bool) -> bytes:
        """What is now, as a frame of `kind`."""


@dataclass(slots=True, kw_only=True)
class WatchTicket:
    """A stream to open: what it begins with has been read, and `position` is how far that went."""

    name: Name
    encoder: Encoder
    opening: bytes
    state: State
    give_back: Callable[[], None]

    @property
    def position(self) -> Revision:
        return self.state.revision


@dataclass(slots=True, kw_only=True)
class WaitTicket:
    """A request to park until `name` may be free, at most until `until` (monotonic seconds)."""

    name: Name
    until: float
    # Of the present hold; after it the name is free unless it was renewed.
    remaining: timedelta
    revision: Revision
    give_back: Callable[[], None]


class TicketResponse(HttpResponse):
    """An answer that is not one yet."""

    def __init__(self, ticket: WatchTicket | WaitTicket) -> None:
        super().__init__(content_type="text/event-stream", headers=STREAM_HEADERS)
        self._ticket: WatchTicket | WaitTicket | None = ticket

    def take(self) -> WatchTicket | WaitTicket | None:
        """The ticket, for the one who will serve it and give its seat back."""
        ticket, self._ticket = self._ticket, None
        return ticket

    def close(self) -> None:
        """Give back the seat of a ticket that nobody took: a HEAD, or a server that knows no tickets."""
        super().close()
        if ticket := self.take():
            ticket.give_back()
