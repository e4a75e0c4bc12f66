"""A campaign that waits for its room: it enters again whenever it may win, and once more at the end."""

from __future__ import annotations

import time
from datetime import timedelta
from typing import Any

from elections import services
from elections.services import SPACE
from octostore.leases.outcomes import Granted, Held
from octostore.lib.errors import Unavailable
from octostore.live.hub import hub
from octostore.live.seats import seats
from octostore.live.tickets import Turn, WaitTicket


def campaign(
    *,
    election_id: str,
    client: str,
    attempt: str | None,
    received_at: float,
    wait: timedelta,
    turn: Turn | None,
    **asked: Any,
) -> Granted | Held | WaitTicket:
    """`services.campaign` for a request that may wait for `wait` since `received_at`.

    `turn` says why the request enters again, None that it enters for the first time: then it counts
    against the client's budget and, when it parks, takes a seat. Raises what a campaign raises.
    """
    until = received_at + wait.total_seconds()
    if turn is Turn.STOPPING:
        return _present_leader(election_id)
    if turn is None and attempt is None and wait and hub.is_awaited((SPACE, election_id)):
        # Those who wait here already came first.
        state = services.status(election_id=election_id)
        if isinstance(state, Held):
            services.charge(client)
            return _ticket(election_id, client, state, until, turn)
    outcome = services.campaign(
        election_id=election_id,
        client=client,
        attempt=attempt,
        received_at=received_at,
        waited=turn is not None,
        **asked,
    )
    parks = isinstance(outcome, Held) and time.monotonic() < until and turn is not Turn.OVER and hub.is_running
    return _ticket(election_id, client, outcome, until, turn) if isinstance(outcome, Held) and parks else outcome


def _ticket(election_id: str, client: str, held: Held, until: float, turn: Turn | None) -> WaitTicket:
    return WaitTicket(
        name=(SPACE, election_id),
        until=until,
        remaining=held.remaining,
        revision=held.revision,
        give_back=seats.take(client) if turn is None else _nothing,
    )


def _present_leader(election_id: str) -> Held:
    state = services.status(election_id=election_id)
    if isinstance(state, Held):
        return state
    raise Unavailable("The server stops while nobody leads; campaign again")


def _nothing() -> None:
    """A request that enters again has its seat."""
