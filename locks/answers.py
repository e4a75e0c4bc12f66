"""What services returned, as the JSON shapes of the contract."""

from __future__ import annotations

from collections.abc import Sequence
from datetime import timedelta

from msgspec import UNSET

from locks import services
from locks.shapes import (
    Acl,
    AclOutput,
    AcquiredOutput,
    End,
    HeldOutput,
    HistoryOutput,
    LockOutput,
    LocksOutput,
    LockTermOutput,
    RenewedOutput,
    SessionBegunOutput,
    SessionKeptOutput,
    SessionOutput,
    SessionsOutput,
)
from octostore.api.timing import instant, milliseconds, retry_after_ms, safe_for_ms
from octostore.leases.models import Ending
from octostore.leases.outcomes import Alive, Delayed, Granted, GroupOver, Held, Past, Vacant
from octostore.lib.errors import LockDelayed

ENDS: dict[Ending, End] = {Ending.RELEASED: "released", Ending.EXPIRED: "expired", Ending.REVOKED: "removed"}


def acquired(outcome: Granted, *, waited: timedelta = timedelta(0)) -> AcquiredOutput:
    return AcquiredOutput(
        lease_id=outcome.capability,
        fencing_token=outcome.hold.term,
        expires_at=instant(outcome.hold.expires_at),
        renew_after_ms=milliseconds(outcome.remaining) // 2,
        safe_for_ms=safe_for_ms(outcome.remaining, waited=waited),
        metadata=outcome.hold.metadata,
    )


def held(space: str, name: str, outcome: Held) -> HeldOutput:
    return HeldOutput(
        holder_id=services.holder_id(space, name, outcome.hold),
        holder=outcome.hold.holder or None,
        expires_at=instant(outcome.hold.expires_at),
        retry_after_ms=retry_after_ms(outcome.remaining, outcome.hold.ttl),
        metadata=outcome.hold.metadata,
    )


def delayed(outcome: Delayed) -> LockDelayed:
    """An error by its status, with the body of an answer beside the envelope."""
    length = outcome.last.delay
    if outcome.last.ending is Ending.REVOKED:
        # Whoever revoked said for how long; the delay of the grant is for its holder's ends.
        length = timedelta(milliseconds=outcome.available_at - (outcome.last.ended_at or 0))
    error = LockDelayed(retry_after_ms=retry_after_ms(outcome.remaining, length))
    error.extra = {
        "status": "delayed",
        "available_at": instant(outcome.available_at),
        "lock_delay_seconds": int(length.total_seconds()),
    }
    return error


def renewed(outcome: Granted) -> RenewedOutput:
    return RenewedOutput(
        lease_id=outcome.capability,
        expires_at=instant(outcome.hold.expires_at),
        renew_after_ms=milliseconds(outcome.remaining) // 2,
        safe_for_ms=safe_for_ms(outcome.remaining),
    )


def lock(space: str, name: str, state: Held | Delayed | Vacant, acl: list[str] | None = None) -> LockOutput:
    """A lock as everybody of the team may see it; who held it last is no matter once it is free."""
    hold, last = (state.hold, state.hold) if isinstance(state, Held) else (None, state.last)
    return LockOutput(
        name=name,
        status="held" if hold else "delayed" if isinstance(state, Delayed) else "free",
        holder_id=services.holder_id(space, name, hold) if hold else None,
        holder=hold.holder or None if hold else None,
        fencing_token=last.term if last else None,
        expires_at=instant(hold.expires_at) if hold else None,
        available_at=instant(state.available_at) if isinstance(state, Delayed) else UNSET,
        metadata=hold.metadata if hold else None,
        acl=UNSET if acl is None else Acl(acquire=acl),
    )


def locks(
    space: str, page: Sequence[tuple[str, Held]], *, total: int, prefix: str | None, next_cursor: str | None
) -> LocksOutput:
    return LocksOutput(
        locks=[lock(space, name, state) for name, state in page], total=total, prefix=prefix, next_cursor=next_cursor
    )


def terms(space: str, name: str, past: list[Past]) -> HistoryOutput:
    return HistoryOutput(name=name, terms=[term(space, name, one) for one in past])


def term(space: str, name: str, past: Past) -> LockTermOutput:
    return LockTermOutput(
        fencing_token=past.term,
        holder=past.holder or None,
        holder_id=services.holder_id(space, name, past),
        key=past.charged_to,
        began_at=instant(past.began_at),
        ended_at=UNSET if past.ended_at is None else instant(past.ended_at),
        end=ENDS[past.ending] if past.ending else None,
        reason=past.reason or UNSET,
        actor=past.actor or UNSET,
        renewals=past.renewals,
    )


def acl(name: str, entries: tuple[str, ...]) -> AclOutput:
    return AclOutput(name=name, acl=Acl(acquire=list(entries)))


def session_begun(session: Alive) -> SessionBegunOutput:
    return SessionBegunOutput(
        session_id=session.key,
        expires_at=instant(session.expires_at),
        keepalive_interval_secs=int(session.ttl.total_seconds()) // 2,
    )


def session_kept(session: Alive) -> SessionKeptOutput:
    return SessionKeptOutput(session_id=session.key, expires_at=instant(session.expires_at))


def session(team_uuid: str, one: Alive | GroupOver, lock_count: int) -> SessionOutput:
    active = isinstance(one, Alive)
    return SessionOutput(
        session_id=one.key,
        user_id=team_uuid,
        expires_at=instant(one.expires_at if isinstance(one, Alive) else one.ended_at),
        lock_count=lock_count,
        active=active,
    )


def sessions(team_uuid: str, page: list[tuple[Alive, int]], *, next_cursor: str | None) -> SessionsOutput:
    return SessionsOutput(
        sessions=[session(team_uuid, one, lock_count) for one, lock_count in page], next_cursor=next_cursor
    )
