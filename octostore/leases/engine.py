"""acquire, renew, release, revoke, inspect: the one door to the leases.

Names are (space, name) pairs of text; spaces never see each other. Lengths are timedeltas,
instants milliseconds since 1970 on the database's clock. Every function may raise Unavailable,
which never means "not held" (guarantees, G9).
"""

from __future__ import annotations

import time
from collections.abc import Callable
from datetime import timedelta

from octostore.leases import keyring, storage
from octostore.leases.errors import NotCurrent
from octostore.leases.models import Ending
from octostore.leases.outcomes import (
    AttemptDiffers,
    AttemptOver,
    Delayed,
    Granted,
    Held,
    Hold,
    Released,
    Revision,
    Revoked,
    Vacant,
)
from octostore.leases.rows import ATTEMPT_MEMORY_MS, TERM_MAX, Grant, Row
from octostore.leases.signals import lease_changed
from octostore.lib import secrets
from octostore.lib.errors import Unavailable

# A take that finds the name changed under it looks again. Each round lost means that another
# caller won the name meanwhile, so a caller that loses this many may as well come back later.
ROUNDS = 16

Acquired = Granted | Held | Delayed | AttemptDiffers | AttemptOver


def acquire(
    space: str,
    name: str,
    *,
    holder: str,
    ttl: timedelta,
    first_ttl: timedelta | None = None,
    metadata: str | None = None,
    group_id: str | None = None,
    delay: timedelta = timedelta(0),
    charged_to: str = "",
    attempt: str | None = None,
    charge: Callable[[], None] | None = None,
    admit: Callable[[], None] | None = None,
) -> Acquired:
    """Hold `name` for `ttl` (until the first renewal: for `first_ttl`, if given), or learn why not.

    `attempt` is a secret of the caller that makes retries safe: while its term lives, the same
    attempt with the same content gets the same term and capability. Both hooks may raise: `charge`
    is asked once, unless the attempt is known; `admit` when the name looks free. A loser writes
    nothing.
    """
    nonce = secrets.mint(secrets.NONCE_BYTES)
    key = keyring.current()
    capability = keyring.capability(key.id, nonce, space, name)
    ttl_ms, delay_ms = _milliseconds(ttl), _milliseconds(delay)
    grant = Grant(
        space=space,
        name=name,
        holder=holder,
        metadata=metadata,
        group_id=group_id,
        charged_to=charged_to,
        ttl_ms=ttl_ms,
        first_ms=_milliseconds(first_ttl or ttl),
        delay_ms=delay_ms,
        nonce=nonce,
        key_id=key.id,
        capability_digest=keyring.digest(capability),
        attempt_digest=secrets.digest("attempt", space, name, attempt) if attempt is not None else None,
        content_digest=secrets.digest("content", holder, str(ttl_ms), repr(metadata), repr(group_id), str(delay_ms)),
    )
    for _ in range(ROUNDS):
        row = storage.run(lambda transitions: transitions.read(space, name))
        if row and _same(row.nonce, nonce):
            # The reply to our own take was lost on the way from the database.
            if row.is_live:
                lease_changed.send(sender=None, space=space, name=name)
                return _granted(row, capability)
            break
        if row and row.is_overdue and _same(row.attempt_digest, grant.attempt_digest):
            # About to be told that its term is over, so it must be over: see `_not_current`.
            _settle(space, name)
            continue
        outcome = _recall(row, grant) if row else None
        if outcome:
            return outcome
        if charge:
            charge()
            charge = None
        if row and not isinstance(state := _state(row), Vacant):
            return state
        if admit:
            admit()
        if not row:
            storage.run(lambda transitions: transitions.found(space, name))
        taken = storage.run(lambda transitions: transitions.take(grant))
        if taken:
            lease_changed.send(sender=None, space=space, name=name)
            return _granted(taken, capability)
    raise Unavailable("The name changes hands faster than this request could follow")


def renew(space: str, name: str, *, capability: str, ttl: timedelta | None = None) -> Granted:
    """Move the deadline to `ttl` from now (None: the term's own TTL); a shorter one shortens.

    Raises NotCurrent for a wrong, stale, expired or unknown capability; expired is expired, even
    when nobody else came.
    """
    digest = keyring.digest(capability)
    ttl_ms = None if ttl is None else _milliseconds(ttl)
    row = storage.run(lambda transitions: transitions.renew(space, name, digest, ttl_ms))
    if not row:
        raise _not_current(space, name, digest)
    lease_changed.send(sender=None, space=space, name=name)
    return _granted(row, capability)


def release(space: str, name: str, *, capability: str, delayed: bool = False) -> Released:
    """End the term; with `delayed`, nobody may acquire for the delay it was granted with.

    Raises NotCurrent as `renew` does, and changes nothing then.
    """
    digest = keyring.digest(capability)
    row = storage.run(lambda transitions: transitions.release(space, name, digest, delayed))
    if not row:
        raise _not_current(space, name, digest)
    lease_changed.send(sender=None, space=space, name=name)
    return Released(hold=_hold(row))


def revoke(
    space: str, name: str, *, term: int, reason: str, actor: str, delay: timedelta = timedelta(0)
) -> Revoked | Held | Delayed | Vacant:
    """End exactly the live `term` on an operator's word; what is there instead when it is over."""
    delay_ms = _milliseconds(delay)
    if not 0 < term <= TERM_MAX:
        return inspect(space, name)
    row = storage.run(lambda transitions: transitions.revoke(space, name, term, delay_ms, reason, actor))
    if not row:
        return inspect(space, name)
    lease_changed.send(sender=None, space=space, name=name)
    return Revoked(hold=_hold(row))


def inspect(space: str, name: str) -> Held | Delayed | Vacant:
    """Who holds the name at this instant of the database's clock, whatever any sweeper did."""
    return _state(storage.run(lambda transitions: transitions.read(space, name)))


def settle(space: str, name: str) -> Held | Delayed | Vacant:
    """`inspect`, after marking the end of a term whose deadline has passed."""
    row = storage.run(lambda transitions: transitions.read(space, name))
    if row and row.is_overdue:
        _settle(space, name)
        return inspect(space, name)
    return _state(row)


def count_live(space: str) -> dict[str, int]:
    """How many names of a space are held now, for each whom they count against."""
    counts: dict[str, int] = storage.run(lambda transitions: transitions.count(space))
    return counts


def _recall(row: Row, grant: Grant) -> Acquired | None:
    """What a known attempt is told; None when the row knows nothing of this one."""
    if grant.attempt_digest is None or not _same(row.attempt_digest, grant.attempt_digest):
        return None
    if not row.is_live:
        return AttemptOver(term=row.term) if row.left_at > row.now - ATTEMPT_MEMORY_MS else None
    if not _same(row.content_digest, grant.content_digest):
        return AttemptDiffers(term=row.term)
    capability = keyring.capability(row.key_id, bytes(row.nonce or b""), grant.space, grant.name)
    return _granted(row, capability, replayed=True)


def _not_current(space: str, name: str, digest: bytes) -> NotCurrent:
    """Why a capability did not work, told only as far as its bearer may know."""
    row = storage.run(lambda transitions: transitions.read(space, name))
    if not row or not _same(row.capability_digest, digest):
        return NotCurrent()
    if row.is_overdue:
        # Told that it is over, so it must be over: no clock may bring it back.
        _settle(space, name)
        return NotCurrent(Ending.EXPIRED)
    return NotCurrent(Ending(row.ending) if row.ending else None)


def _settle(space: str, name: str) -> None:
    if storage.run(lambda transitions: transitions.settle(space, name)):
        lease_changed.send(sender=None, space=space, name=name)


def _state(row: Row | None) -> Held | Delayed | Vacant:
    if row is None:
        # Nobody has ever held it; the instant is for information, and the database was not asked for it.
        return Vacant(last=None, revision=Revision(incarnation=0, n=0), observed_at=time.time_ns() // 1_000_000)
    revision = Revision(incarnation=row.incarnation, n=row.events)
    if row.is_live:
        remaining = _length(row.expires_at - row.now)
        return Held(hold=_hold(row), remaining=remaining, revision=revision, observed_at=row.now)
    if row.term and row.is_delayed:
        remaining = _length(row.open_at - row.now)
        return Delayed(
            last=_hold(row),
            available_at=row.open_at,
            remaining=remaining,
            revision=revision,
            observed_at=row.now,
        )
    return Vacant(last=_hold(row) if row.term else None, revision=revision, observed_at=row.now)


def _granted(row: Row, capability: str, *, replayed: bool = False) -> Granted:
    remaining = _length(row.expires_at - row.now)
    return Granted(hold=_hold(row), capability=capability, remaining=remaining, replayed=replayed)


def _hold(row: Row) -> Hold:
    return Hold(
        term=row.term,
        holder=row.holder,
        metadata=row.metadata,
        group_id=row.group_id,
        ttl=_length(row.ttl_ms),
        began_at=row.began_at,
        expires_at=row.expires_at,
        renewals=row.renewals,
        ended_at=row.expires_at if row.is_overdue else row.ended_at,
        ending=Ending.EXPIRED if row.is_overdue else Ending(row.ending) if row.ending else None,
    )


def _same(left: bytes | None, right: bytes | None) -> bool:
    return left is not None and right is not None and secrets.same(bytes(left), right)


def _milliseconds(length: timedelta) -> int:
    return round(length.total_seconds() * 1000)


def _length(milliseconds: int) -> timedelta:
    return timedelta(milliseconds=milliseconds)
