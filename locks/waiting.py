"""An acquire that waits for its lock."""

from __future__ import annotations

from datetime import timedelta
from functools import partial
from typing import Any

from locks import services
from octostore.leases import engine
from octostore.leases.outcomes import Delayed, Granted, Held, Vacant
from octostore.lib.errors import Unavailable
from octostore.live.seats import seats, waits_of
from octostore.live.tickets import Turn, WaitTicket
from octostore.live.waiting import try_or_wait
from octostore.teams import limits
from octostore.teams.principals import Principal


def acquire(
    *, principal: Principal, name: str, received_at: float, wait: timedelta, turn: Turn | None, **asked: Any
) -> Granted | Held | Delayed | WaitTicket:
    """`services.acquire` for a request that may wait for `wait` since `received_at`; raises what that raises."""
    if turn is Turn.STOPPING:
        return _present(principal, name)
    return try_or_wait(
        (principal.lock_space, name),
        partial(services.acquire, principal=principal, name=name, received_at=received_at, **asked),
        received_at=received_at,
        wait=wait,
        turn=turn,
        principal=principal,
        take_seat=lambda: seats.take(waits_of(principal.team_uuid), at_most=limits.waits_max(principal.team_id)),
    )


def _present(principal: Principal, name: str) -> Held | Delayed:
    state = engine.inspect(principal.lock_space, name)
    if isinstance(state, Vacant):
        raise Unavailable("The server stops while nobody holds the lock; acquire again")
    return state
