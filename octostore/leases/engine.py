"""acquire, renew, release, revoke, inspect: the one door to the leases.

Names are (space, name) pairs of text; spaces never see each other. Lengths are timedeltas,
instants milliseconds since 1970 on the database's clock. Every function may raise Unavailable,
which never means "not held" (guarantees, G9).
"""

from __future__ import annotations

from collections.abc import Sequence
from datetime import timedelta

from octostore.leases import keyring, storage
from octostore.leases.acquiring import Access, Acquired, Membership, acl_entries, acl_text, acquire
from octostore.leases.errors import NotCurrent
from octostore.leases.models import Ending
from octostore.leases.outcomes import Delayed, Described, Granted, Held, Hold, Released, Revoked, Vacant
from octostore.leases.readings import granted, hold, milliseconds, same, state
from octostore.leases.rows import TERM_MAX, Row
from octostore.leases.settling import settle_overdue
from octostore.leases.signals import lease_changed

__all__ = [
    "Access",
    "Acquired",
    "Membership",
    "acquire",
    "count_live",
    "describe",
    "inspect",
    "prove",
    "release",
    "renew",
    "revoke",
    "set_acl",
    "settle",
]


def renew(space: str, name: str, *, capability: str, ttl: timedelta | None = None) -> Granted:
    """Move the deadline to `ttl` from now (None: the term's own TTL); a shorter one shortens.

    Raises NotCurrent for a wrong, stale, expired or unknown capability; expired is expired, even
    when nobody else came.
    """
    digest = keyring.digest(capability)
    ttl_ms = None if ttl is None else milliseconds(ttl)
    row = storage.run(lambda transitions: transitions.renew(space, name, digest, ttl_ms))
    if not row:
        seen = storage.run(lambda transitions: transitions.read(space, name))
        if seen and seen.bound and seen.ended_at is None and same(seen.capability_digest, digest):
            # Judged under its group's lock, for which no other term pays: a keepalive may be under way.
            row = storage.run(lambda transitions: transitions.renew(space, name, digest, ttl_ms, bound=True))
            seen = row or storage.run(lambda transitions: transitions.read(space, name))
        if not row:
            raise _not_current(space, name, digest, seen)
    lease_changed.send_robust(sender=None, space=space, name=name)
    return granted(row, capability)


def release(space: str, name: str, *, capability: str, delayed: bool = False) -> Released:
    """End the term; with `delayed`, nobody may acquire for the delay it was granted with.

    Raises NotCurrent as `renew` does, and changes nothing then.
    """
    digest = keyring.digest(capability)
    row = storage.run(lambda transitions: transitions.release(space, name, digest, delayed))
    if not row:
        raise _not_current(space, name, digest, storage.run(lambda transitions: transitions.read(space, name)))
    lease_changed.send_robust(sender=None, space=space, name=name)
    return Released(hold=hold(row))


def revoke(
    space: str, name: str, *, term: int, reason: str, actor: str, delay: timedelta = timedelta(0)
) -> Revoked | Held | Delayed | Vacant:
    """End exactly the live `term` on an operator's word; what is there instead when it is over."""
    delay_ms = milliseconds(delay)
    if not 0 < term <= TERM_MAX:
        return inspect(space, name)
    row = storage.run(lambda transitions: transitions.revoke(space, name, term, delay_ms, reason, actor))
    if not row:
        return inspect(space, name)
    lease_changed.send_robust(sender=None, space=space, name=name)
    return Revoked(hold=hold(row))


def inspect(space: str, name: str) -> Held | Delayed | Vacant:
    """Who holds the name at this instant of the database's clock, whatever any sweeper did."""
    return state(storage.run(lambda transitions: transitions.read(space, name)))


def settle(space: str, name: str) -> Held | Delayed | Vacant:
    """`inspect`, after marking the end of a term whose deadline has passed."""
    row = storage.run(lambda transitions: transitions.read(space, name))
    if row and row.is_overdue:
        settle_overdue(space, name)
        return inspect(space, name)
    return state(row)


def count_live(space: str) -> dict[str, int]:
    """How many names of a space are held now, for each whom they count against."""
    counts: dict[str, int] = storage.run(lambda transitions: transitions.count(space))
    return counts


def describe(space: str, name: str) -> Described:
    """`inspect`, and who may acquire the name."""
    row = storage.run(lambda transitions: transitions.read(space, name))
    return Described(state=state(row), acl=acl_entries(row.acl) if row else None)


def prove(space: str, name: str, *, capability: str) -> Hold:
    """The live term that the capability proves. Raises NotCurrent as `renew` does."""
    digest = keyring.digest(capability)
    row = storage.run(lambda transitions: transitions.read(space, name))
    if not row or not row.is_live or not same(row.capability_digest, digest):
        raise _not_current(space, name, digest, row)
    return hold(row)


def set_acl(space: str, name: str, acl: Sequence[str] | None, *, capability: str | None) -> None:
    """Leave an acl with the name, or take it away; on an admin's word (without capability) also with one nobody held.

    Raises NotCurrent when the capability is not that of the live term.
    """
    text = None if acl is None else acl_text(list(acl))
    digest = None if capability is None else keyring.digest(capability)
    if digest is None and text is not None:
        storage.run(lambda transitions: transitions.found(space, name))
    done = storage.run(lambda transitions: transitions.set_acl(space, name, text, digest))
    if not done and digest is not None:
        raise _not_current(space, name, digest, storage.run(lambda transitions: transitions.read(space, name)))


def _not_current(space: str, name: str, digest: bytes, row: Row | None) -> NotCurrent:
    """Why a capability did not work on that row, told only as far as its bearer may know."""
    if not row or not same(row.capability_digest, digest):
        return NotCurrent()
    if row.is_overdue:
        # Told that it is over, so it must be over: no clock may bring it back.
        settle_overdue(space, name)
        return NotCurrent(Ending.EXPIRED)
    return NotCurrent(Ending(row.ending) if row.ending else None)
