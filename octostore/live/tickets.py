"""What an ordinary view answers when its request should become a stream or a wait.

The view has done all a view does (authentication, permission, budgets, errors); the server in front
takes the ticket and goes on without a thread.
"""

from __future__ import annotations

import enum
from collections.abc import Callable
from dataclasses import dataclass
from typing import Protocol

from django.http import HttpResponse
from django.http.response import HttpResponseBase

from octostore.leases.models import LeaseEvent
from octostore.leases.watching import State
from octostore.live.hints import Name
from octostore.teams.principals import Principal
from octostore.teams.visits import Visit

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

    def renewal(self, state: State) -> bytes:
        """A deadline that has moved, which is no event."""


@dataclass(slots=True, kw_only=True)
class WatchTicket:
    """A stream to open: `opening` are the frames it begins with, which tell of everything up to `state`."""

    name: Name
    encoder: Encoder
    opening: bytes
    state: State
    give_back: Callable[[], None]
    # By whose right it goes on; None where nobody's is needed.
    principal: Principal | None = None


@dataclass(slots=True, kw_only=True)
class WaitTicket:
    """A request to park until `name` may be free; instants are monotonic seconds of this process."""

    name: Name
    # When it came: its place in the queue.
    since: float
    until: float
    # What the last try read; None where nothing could be read, or where others come first.
    state: State | None
    give_back: Callable[[], None]
    principal: Principal | None = None


@dataclass(slots=True, kw_only=True)
class PageTicket:
    """A page's stream to open, of hints alone: under which topics it is told of which names and whole spaces."""

    names: dict[Name, str]
    # The empty space stands for all of them.
    spaces: dict[str, str]
    give_back: Callable[[], None]
    visit: Visit | None = None


StreamTicket = WatchTicket | PageTicket
Ticket = WatchTicket | PageTicket | WaitTicket


class TicketResponse(HttpResponse):
    """An answer that is not one yet; who serves the ticket takes it, and gives its seat back."""

    def __init__(self, ticket: Ticket) -> None:
        super().__init__(content_type="text/event-stream", headers=STREAM_HEADERS)
        self._ticket: Ticket | None = ticket

    @property
    def ticket(self) -> Ticket | None:
        return self._ticket

    def take(self) -> Ticket | None:
        ticket, self._ticket = self._ticket, None
        return ticket

    def close(self) -> None:
        """Give back the seat of a ticket that nobody took: a HEAD, or a server that knows no tickets."""
        super().close()
        if ticket := self.take():
            ticket.give_back()


def is_parked(response: HttpResponseBase) -> bool:
    """Whether the request will enter again, so that its answer is still to come."""
    return isinstance(response, TicketResponse) and isinstance(response.ticket, WaitTicket)
