"""What a team's locks can do, in the words of locks.

Every function takes the principal whose team it is: names of other teams do not exist for it.
"""

from __future__ import annotations

import time
from contextlib import suppress
from datetime import timedelta

from django.conf import settings

from octostore.leases import engine, history, pseudonyms, reaper, walking
from octostore.leases.engine import Access, Membership
from octostore.leases.outcomes import (
    AclDiffers,
    AttemptDiffers,
    AttemptOver,
    Delayed,
    Described,
    Granted,
    GroupOver,
    GroupUnknown,
    Held,
    Hold,
    Past,
    QuotaReached,
    Refused,
    Revoked,
)
from octostore.lib.errors import (
    Conflict,
    Forbidden,
    InvalidInput,
    LeaseNotCurrent,
    LockLimitExceeded,
    NotFound,
    SessionExpired,
    Unavailable,
)
from octostore.live.waiting import GaveWay
from octostore.teams import audit, limits
from octostore.teams.principals import LOCK_SPACES, Acting, Principal

# A session that ended is told from an unknown one for so long.
SESSION_MEMORY = timedelta(days=1)


def within(principal: Principal, name: str) -> None:
    """Raises Forbidden for a name outside the key's prefix."""
    if not principal.covers(name):
        raise Forbidden("This key is for other names")


def acquire(
    *,
    principal: Principal,
    name: str,
    ttl: timedelta,
    metadata: str | None,
    holder: str,
    session_id: str | None,
    ephemeral: bool,
    delay: timedelta,
    acl: tuple[str, ...] | None,
    attempt: str | None,
    received_at: float,
    waited: bool = False,
    gives_way: bool = False,
) -> Granted | Held | Delayed:
    """Hold the lock for `ttl`, or learn who does, or from when it can be had.

    Raises Forbidden where the lock's acl refuses, Conflict, LockLimitExceeded, SessionExpired,
    NotFound for an unknown session, and Unavailable also for a win of which less than half would be
    left: it is given back, but for a session's, which finds it again when it asks again.
    One that `waited` holds for a short first term; one that `gives_way` raises GaveWay instead of taking.
    """
    began_at = time.monotonic() if waited else received_at

    def give_way() -> None:
        raise GaveWay

    outcome = engine.acquire(
        principal.lock_space,
        name,
        holder=holder,
        ttl=ttl,
        first_ttl=min(ttl, timedelta(seconds=settings.WAITED_TTL_MAX_SECONDS)) if waited else ttl,
        metadata=metadata,
        group=None if session_id is None else Membership(key=session_id, bound=ephemeral),
        delay=delay,
        charged_to=principal.visible,
        attempt=attempt,
        access=Access(entries=(principal.actor, f"user:{principal.key_name}"), acl=acl),
        quota=limits.locks_max(principal.team_id),
        form=pseudonyms.as_uuid,
        admit=give_way if gives_way else None,
    )
    match outcome:
        case Granted(replayed=False) if _since(began_at) > outcome.remaining / 2:
            if session_id is not None:
                # Perhaps told to the same worker by another of its requests, or held by it for long.
                raise Unavailable("The session holds the lock, but too little of it is left; acquire again")
            give_back(principal=principal, name=name, lease_id=outcome.capability)
            raise Unavailable("The grant came too late to be of use and was given back; try again with a new attempt")
        case Granted() | Held() | Delayed():
            return outcome
        case Refused():
            raise Forbidden("The lock's acl does not list this key")
        case AclDiffers():
            raise Conflict("The lock has another acl")
        case QuotaReached():
            raise LockLimitExceeded()
        case GroupUnknown():
            raise NotFound()
        case GroupOver():
            raise SessionExpired()
        case AttemptDiffers():
            raise Conflict("This Idempotency-Key was used with other content")
        case AttemptOver():
            raise Conflict("That term is over; use a new Idempotency-Key for a new attempt")


def renew(*, principal: Principal, name: str, lease_id: str, ttl: timedelta | None) -> Granted:
    """Hold for `ttl` from now (None: the term's own). Raises LeaseNotCurrent."""
    return engine.renew(principal.lock_space, name, capability=lease_id, ttl=ttl)


def release(*, principal: Principal, name: str, lease_id: str, delayed: bool) -> None:
    """Give the lock back; nobody acquires it then, where `delayed`, for the delay it was acquired with.

    Raises LeaseNotCurrent; InvalidInput where there is no such delay.
    """
    if delayed and not engine.prove(principal.lock_space, name, capability=lease_id).delay:
        raise InvalidInput("delay needs a lock that was acquired with lock_delay_seconds")
    engine.release(principal.lock_space, name, capability=lease_id, delayed=delayed)


def give_back(*, principal: Principal, name: str, lease_id: str) -> None:
    """End a term that its holder will not learn of; nothing where it has ended already."""
    with suppress(LeaseNotCurrent):
        engine.release(principal.lock_space, name, capability=lease_id)


def revoke(*, principal: Acting, name: str, term: int, reason: str, delay: timedelta, request_id: str) -> None:
    """End exactly that term, on the word of the team's admin. Raises Conflict when it is over."""
    outcome = engine.revoke(principal.lock_space, name, term=term, reason=reason, actor=principal.actor, delay=delay)
    if not isinstance(outcome, Revoked):
        raise Conflict("That term is over")
    audit.record(
        team_id=principal.team_id,
        actor=principal.actor,
        action="lock_revoked",
        object=f"lock:{name}",
        reason=reason,
        request_id=request_id,
        before={"fencing_token": term},
    )


def status(*, principal: Acting, name: str) -> Described:
    """Who holds the lock at this instant, and who may acquire it; one never held is free."""
    return engine.describe(principal.lock_space, name)


def walk(*, principal: Principal, prefix: str, after: str, limit: int) -> tuple[list[tuple[str, Held]], int]:
    """The next live locks by name within `prefix` and the key's own, and how many there are in all."""
    shared = _shared(prefix, principal.prefix or "")
    if shared is None:
        return [], 0
    return walking.live(principal.lock_space, prefix=shared, after=after, limit=limit)


def terms(*, principal: Acting, name: str, limit: int) -> list[Past]:
    """The lock's last terms, newest first."""
    return history.terms(principal.lock_space, name, limit=limit)


def set_acl(*, principal: Principal, name: str, acl: tuple[str, ...] | None, lease_id: str | None) -> None:
    """Leave an acl with the lock, or take it away: its holder may, and an admin.

    Raises LeaseNotCurrent for a lease_id that does not hold it; Forbidden without one.
    """
    if lease_id is None and not principal.may("admin"):
        raise Forbidden("Only the present holder (X-Lease-Id) or a key with the scope admin may change an acl")
    engine.set_acl(principal.lock_space, name, acl, capability=lease_id)


def holder_id(space: str, name: str, hold: Hold | Past) -> str:
    """A stable pseudonym of who holds: the session, or the single grant where there is none."""
    return pseudonyms.holder_id(space, name, term=hold.term, group_id=hold.group_id)


def forget_idle() -> int:
    """Forget names that nobody has held for the set time, and sessions long over, of all teams; how many names."""
    reaper.forget_groups(idle=SESSION_MEMORY)
    return reaper.forget(LOCK_SPACES, idle=timedelta(seconds=settings.LOCK_IDLE_SECONDS))


def _shared(one: str, other: str) -> str | None:
    """The beginning of all names that begin in both ways; None where none can."""
    longer, shorter = (one, other) if len(one) >= len(other) else (other, one)
    return longer if longer.startswith(shorter) else None


def _since(instant: float) -> timedelta:
    return timedelta(seconds=time.monotonic() - instant)
