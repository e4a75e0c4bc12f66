"""A campaign that waits for its room: it enters again whenever it may win, and once more at the end."""

from __future__ import annotations

import time
from datetime import timedelta
from typing import Any

from elections import services
from elections.services import SPACE, GaveWay
from octostore.leases.outcomes import Granted, Held
from octostore.lib.errors import Unavailable
from octostore.live.hub import hub
from octostore.live.seats import seats
from octostore.live.tickets import Turn, WaitTicket


def campaign(
    *, election_id: str, client: str, received_at: float, wait: timedelta, turn: Turn | None, **asked: Any
) -> Granted | Held | WaitTicket:
    """`services.campaign` for a request that may wait for `wait` since `received_at`.

    `turn` says why the request enters again, None that it enters for the first time: then it counts
    against the client's budget and, when it parks, takes a seat. Raises what a campaign raises.
    """
    if turn is Turn.STOPPING:
        return _present_leader(election_id)
    until = received_at + wait.total_seconds()
    may_park = turn is not Turn.OVER and time.monotonic() < until and hub.is_running
    held: Held | None = None
    try:
        outcome = services.campaign(
            election_id=election_id,
            client=client,
            received_at=received_at,
            waited=turn is not None,
            gives_way=turn is None and may_park and hub.is_awaited((SPACE, election_id)),
            **asked,
        )
        if isinstance(outcome, Granted) or not may_park:
            return outcome
        held = outcome
    except GaveWay:
        pass
    except Unavailable:
        # What this try came to is unknown; the next one finds out.
        if turn is None or not may_park:
            raise
    return WaitTicket(
        name=(SPACE, election_id),
        since=received_at,
        until=until,
        state=held,
        give_back=seats.take(client) if turn is None else _nothing,
    )


def _present_leader(election_id: str) -> Held:
    state = services.status(election_id=election_id)
    if isinstance(state, Held):
        return state
    raise Unavailable("The server stops while nobody leads; campaign again")


def _nothing() -> None:
    """A request that enters again has its seat."""
