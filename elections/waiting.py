"""A campaign that waits for its room."""

from __future__ import annotations

from datetime import timedelta
from functools import partial
from typing import Any

from elections import services
from elections.services import SPACE
from octostore.leases.outcomes import Granted, Held
from octostore.lib.errors import Unavailable
from octostore.live.seats import seats
from octostore.live.tickets import Turn, WaitTicket
from octostore.live.waiting import try_or_wait


def campaign(
    *, election_id: str, client: str, received_at: float, wait: timedelta, turn: Turn | None, **asked: Any
) -> Granted | Held | WaitTicket:
    """`services.campaign` for a request that may wait for `wait` since `received_at`.

    It counts against the client's budget when it comes. Raises what a campaign raises.
    """
    if turn is Turn.STOPPING:
        return _present_leader(election_id)
    return try_or_wait(
        (SPACE, election_id),
        partial(services.campaign, election_id=election_id, client=client, received_at=received_at, **asked),
        received_at=received_at,
        wait=wait,
        turn=turn,
        take_seat=lambda: seats.take(client),
    )


def _present_leader(election_id: str) -> Held:
    state = services.status(election_id=election_id)
    if isinstance(state, Held):
        return state
    raise Unavailable("The server stops while nobody leads; campaign again")
