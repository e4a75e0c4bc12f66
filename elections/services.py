"""What a room can do, in the words of elections.

Instants are milliseconds since 1970 on the database's clock, `received_at` is this process's
monotonic clock in seconds.
"""

from __future__ import annotations

import time
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from dataclasses import dataclass
from datetime import timedelta
from typing import Literal

from django.conf import settings

from elections.capacity import Capacity
from octostore.leases import engine, history, reaper
from octostore.leases.errors import NotCurrent
from octostore.leases.outcomes import AttemptDiffers, AttemptOver, Delayed, Granted, Held, Hold, Past, Vacant
from octostore.lib.errors import Conflict, Forbidden, Unavailable
from octostore.live import admission
from octostore.live.waiting import GaveWay

SPACE = "elections"

capacity = Capacity(SPACE)


@dataclass(frozen=True, slots=True, kw_only=True)
class TermStatus:
    """Where one term stands among the terms of its room."""

    status: Literal["current", "ended", "superseded", "unknown"]
    # The term that leads now, if one does.
    current_term: int | None


def require_open() -> None:
    """Raises Forbidden when public elections are switched off."""
    if not settings.PUBLIC_ELECTIONS:
        raise Forbidden("Public elections are switched off on this server")


def open_room(*, client: str) -> None:
    """A room needs nothing stored; opening one counts against the client's budget. Raises RateLimited."""
    admission.campaigns.spend(client)


def campaign(
    *,
    election_id: str,
    candidate_id: str,
    ttl: timedelta,
    metadata: str | None,
    attempt: str | None,
    client: str,
    charged_to: str,
    received_at: float,
    waited: bool = False,
    gives_way: bool = False,
) -> Granted | Held:
    """Lead the room for `ttl`, or learn who does.

    One that `waited` was charged when it came, and leads for a short first term: should it have gone,
    the next one need not wait long. One that `gives_way` learns of its own earlier win and of who
    leads, but raises GaveWay where it would win.
    Raises RateLimited, CapacityExceeded; Conflict for an attempt that says something else than
    before or whose term is over; Unavailable also when so much of the TTL was spent on the way
    that the win would be worth little: the term is given back then.
    """

    def admit() -> None:
        if gives_way:
            raise GaveWay
        capacity.admit(election_id, charged_to)

    if attempt is None and not waited:
        # Nothing to be looked up first, as it is for a retry.
        charge(client)
    began_at = time.monotonic() if waited else received_at
    first_ttl = min(ttl, timedelta(seconds=settings.WAITED_TTL_MAX_SECONDS)) if waited else ttl
    outcome = engine.acquire(
        SPACE,
        election_id,
        holder=candidate_id,
        ttl=ttl,
        first_ttl=first_ttl,
        metadata=metadata,
        charged_to=charged_to,
        attempt=attempt,
        charge=None if attempt is None or waited else lambda: charge(client),
        admit=admit,
    )
    match outcome:
        case Granted(replayed=False) if outcome.remaining - _since(began_at) < first_ttl / 2:
            give_back(election_id=election_id, capability=outcome.capability, charged_to=charged_to)
            raise Unavailable("The win came too late to be of use and was given back; try again with a new attempt")
        case Granted() | Held():
            return outcome
        case AttemptDiffers():
            raise Conflict("This Idempotency-Key was used with another candidate, TTL or metadata")
        case AttemptOver():
            raise Conflict("That term is over; use a new Idempotency-Key for a new attempt")
        case _:
            raise AssertionError("a room has no delay, no acl, no quota and no group")


def charge(client: str) -> None:
    """Count one campaign against the client's budget. Raises RateLimited."""
    admission.campaigns.spend(client)


def give_back(*, election_id: str, capability: str, charged_to: str) -> None:
    """End a term that its leader will not learn of; nothing where it has ended already."""
    with suppress(NotCurrent):
        engine.release(SPACE, election_id, capability=capability)
    capacity.vacate(election_id, charged_to)


def status(*, election_id: str) -> Held | Vacant:
    """Who leads at this instant. Vacant is advice: only a won campaign proves it."""
    state = engine.inspect(SPACE, election_id)
    if isinstance(state, Delayed):
        return Vacant(last=state.last, revision=state.revision, observed_at=state.observed_at)
    return state


def renew(*, election_id: str, capability: str, ttl: timedelta | None, client: str) -> Granted:
    """Lead for `ttl` from now (None: the term's own). Raises LeaseNotCurrent; RateLimited for guessing."""
    with _guesses_limited(client):
        return engine.renew(SPACE, election_id, capability=capability, ttl=ttl)


def resign(*, election_id: str, capability: str, client: str, charged_to: str) -> Hold:
    """Stop leading; the term that ended. Raises LeaseNotCurrent; RateLimited for guessing."""
    with _guesses_limited(client):
        ended = engine.release(SPACE, election_id, capability=capability).hold
    capacity.vacate(election_id, charged_to)
    return ended


def term_status(*, election_id: str, term: int) -> TermStatus:
    """Whether `term` leads, was the last, was passed by, or lies above every term of the room."""
    current: int | None = None
    match status(election_id=election_id):
        case Held(hold=hold):
            last = current = hold.term
        case Vacant(last=hold):
            last = hold.term if hold else 0
    if term > last:
        return TermStatus(status="unknown", current_term=current)
    if term < last:
        return TermStatus(status="superseded", current_term=current)
    return TermStatus(status="current" if current else "ended", current_term=current)


def terms(*, election_id: str, limit: int, before: int | None = None) -> list[Past]:
    """The room's last terms, or those below the term `before`, newest first, as far as they are kept."""
    return history.terms(SPACE, election_id, limit=min(limit, settings.TERMS_KEPT), before=before)


def forget_idle_rooms() -> int:
    """Forget the rooms nobody has led for the set time, with their history; how many went."""
    return reaper.forget(SPACE, idle=timedelta(seconds=settings.ROOM_IDLE_SECONDS))


@contextmanager
def _guesses_limited(client: str) -> Iterator[None]:
    """Only a capability that was never this room's last one costs budget, so load strands no leader."""
    try:
        yield
    except NotCurrent as error:
        if error.ending is None:
            admission.wrong_capabilities.spend(client)
        raise


def _since(received_at: float) -> timedelta:
    return timedelta(seconds=time.monotonic() - received_at)
