"""A request that waits for a name: it tries when it comes, whenever it may win, and once more at the end."""

from __future__ import annotations

import time
from collections.abc import Callable
from datetime import timedelta
from typing import Protocol, TypeVar

from octostore.leases.outcomes import Delayed, Held
from octostore.lib.errors import Unavailable
from octostore.live.hints import Name
from octostore.live.hub import hub
from octostore.live.tickets import Turn, WaitTicket
from octostore.teams.principals import Principal

Outcome = TypeVar("Outcome", covariant=True)
Result = TypeVar("Result")


class GaveWay(Exception):
    """The name may be free, and those who wait for it came first."""


class Try(Protocol[Outcome]):
    """One try. One that `waited` was counted when it came; one that `gives_way` raises GaveWay where it would win."""

    def __call__(self, *, waited: bool, gives_way: bool) -> Outcome: ...


def try_or_wait(
    name: Name,
    attempt: Try[Result],
    *,
    received_at: float,
    wait: timedelta,
    turn: Turn | None,
    take_seat: Callable[[], Callable[[], None]],
    principal: Principal | None = None,
) -> Result | WaitTicket:
    """The outcome of a try, or a ticket to park until the next one, within `wait` since `received_at`.

    `turn` says why the request enters again, None that it enters for the first time: then it takes a
    seat when it parks. It also enters again when the key of `principal` is over. Raises what the try raises.
    """
    until = received_at + wait.total_seconds()
    may_park = turn is not Turn.OVER and time.monotonic() < until and hub.is_running
    state: Held | Delayed | None = None
    try:
        outcome = attempt(waited=turn is not None, gives_way=turn is None and may_park and hub.is_awaited(name))
        if not may_park or not isinstance(outcome, Held | Delayed):
            return outcome
        state = outcome
    except GaveWay:
        pass
    except Unavailable:
        # What this try came to is unknown; the next one finds out.
        if turn is None or not may_park:
            raise
    give_back = take_seat() if turn is None else _nothing
    return WaitTicket(name=name, since=received_at, until=until, state=state, give_back=give_back, principal=principal)


def _nothing() -> None:
    """A request that enters again has its seat."""
