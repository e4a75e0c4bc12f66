"""Between a request and the steps of a verb, which know no request object.

A step takes the path's parts, a way to the body's object and a `Caller`, and gives a `Reply`; a view
is a thin door around one step, and another door can open beside it.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from typing import Any

import msgspec
from django.http import HttpRequest, HttpResponse
from rest_framework.request import Request

from octostore.api.client import client_digest, client_of
from octostore.api.request_id import request_id_of
from octostore.live.tickets import TicketResponse, Turn, WaitTicket, WatchTicket

# Reads the body when a step asks for it: the path is judged first (contract, order of checks).
Body = Callable[[], dict[str, Any]]


@dataclass(frozen=True, slots=True, kw_only=True)
class Caller:
    """Who is asking, and since when; `received_at` is this process's monotonic clock in seconds."""

    client: str
    charged_to: str
    received_at: float
    # The Authorization header as it came.
    credential: str | None = field(repr=False)
    request_id: str
    # Why a request that was parked enters again.
    turn: Turn | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class Reply:
    """What a step answers; `shape` becomes the JSON body, which a 204 has none of."""

    shape: msgspec.Struct | Sequence[msgspec.Struct] | None
    status: int = 200
    headers: dict[str, str] = field(default_factory=dict)
    # Takes back what was done for a client that turns out to have gone.
    undo: Callable[[], None] | None = None
    # What the verb came to, for whoever counts (`octostore.api.metrics.counted_as`).
    outcome: str = ""

    @property
    def body(self) -> bytes:
        return b"" if self.status == 204 else msgspec.json.encode(self.shape)


def caller_of(request: HttpRequest | Request) -> Caller:
    client = client_of(request)
    received_at = request.META.get("octostore.received_at") or time.monotonic()
    turn = request.META.get("octostore.turn")
    return Caller(
        client=client,
        charged_to=client_digest(client),
        received_at=received_at,
        credential=request.META.get("HTTP_AUTHORIZATION"),
        request_id=request_id_of(request),
        turn=turn,
    )


def respond(reply: Reply | WatchTicket | WaitTicket) -> HttpResponse:
    """The reply as Django's response.

    A ticket goes on to the server in front, which answers once there is something to say.
    """
    if isinstance(reply, WatchTicket | WaitTicket):
        return TicketResponse(reply)
    return ReplyResponse(reply)


class ReplyResponse(HttpResponse):
    """A reply as Django's response, and the way to take it back."""

    def __init__(self, reply: Reply) -> None:
        super().__init__(reply.body, status=reply.status, headers=reply.headers, content_type="application/json")
        if reply.status == 204:
            del self["Content-Type"]
        self.undo = reply.undo
