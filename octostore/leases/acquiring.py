"""acquire: the one verb that many want at once."""

from __future__ import annotations

import json
from collections.abc import Callable, Iterable
from dataclasses import dataclass
from datetime import timedelta

from octostore.leases import groups, keyring, storage
from octostore.leases.outcomes import (
    AclDiffers,
    AttemptDiffers,
    AttemptOver,
    Delayed,
    Granted,
    GroupOver,
    GroupUnknown,
    Held,
    QuotaReached,
    Refused,
    Vacant,
)
from octostore.leases.readings import granted, milliseconds, same, state
from octostore.leases.rows import ATTEMPT_MEMORY_MS, Grant, Row
from octostore.leases.settling import settle_overdue
from octostore.leases.signals import lease_changed
from octostore.lib import secrets
from octostore.lib.errors import Unavailable

# A take that finds the name changed under it looks again. Each round lost means that another
# caller won the name meanwhile, so a caller that loses this many may as well come back later.
ROUNDS = 16

Acquired = (
    Granted
    | Held
    | Delayed
    | AttemptDiffers
    | AttemptOver
    | Refused
    | AclDiffers
    | QuotaReached
    | GroupUnknown
    | GroupOver
)


@dataclass(frozen=True, slots=True, kw_only=True)
class Membership:
    """The group that acquires, and whether the lease ends with it."""

    key: str
    bound: bool = False


@dataclass(frozen=True, slots=True, kw_only=True)
class Access:
    """Whom a name's acl knows the caller as, and the acl to leave with the name where it has none."""

    entries: tuple[str, str]
    acl: tuple[str, ...] | None = None


def acquire(
    space: str,
    name: str,
    *,
    holder: str,
    ttl: timedelta,
    first_ttl: timedelta | None = None,
    metadata: str | None = None,
    group: Membership | None = None,
    delay: timedelta = timedelta(0),
    charged_to: str = "",
    attempt: str | None = None,
    access: Access | None = None,
    quota: int | None = None,
    form: Callable[[bytes], str] = secrets.encode,
    charge: Callable[[], None] | None = None,
    admit: Callable[[], None] | None = None,
) -> Acquired:
    """Hold `name` for `ttl` (until the first renewal: for `first_ttl`, if given), or learn why not.

    `attempt` is a secret of the caller that makes retries safe: while its term lives, the same
    attempt with the same content gets the same term and capability. A group that acquires what it
    holds gets it again, the deadline only growing. At most `quota` terms that were acquired under a
    quota are live in the space. `form` writes the capability's 32 bytes. Both hooks may raise:
    `charge` is asked once, unless the attempt is known; `admit` when the name looks free. A loser
    writes nothing.
    """
    nonce = secrets.mint(secrets.NONCE_BYTES)
    key = keyring.current()
    capability = keyring.capability(key.id, nonce, space, name, form)
    ttl_ms, delay_ms = milliseconds(ttl), milliseconds(delay)
    group_id, bound = (group.key, group.bound) if group else (None, False)
    principal, principal_name = map(acl_line, access.entries) if access else (None, None)
    acl = acl_text(access.acl) if access and access.acl is not None else None
    grant = Grant(
        space=space,
        name=name,
        holder=holder,
        metadata=metadata,
        group_id=group_id,
        bound=bound,
        charged_to=charged_to,
        ttl_ms=ttl_ms,
        first_ms=milliseconds(first_ttl or ttl),
        delay_ms=delay_ms,
        nonce=nonce,
        key_id=key.id,
        capability_digest=keyring.digest(capability),
        attempt_digest=secrets.digest("attempt", space, name, attempt) if attempt is not None else None,
        content_digest=secrets.digest(
            "content",
            holder,
            str(ttl_ms),
            repr(metadata),
            repr(group_id),
            str(delay_ms),
            *(["bound"] if bound else []),
            *([acl] if acl else []),
        ),
        acl=acl,
        principal=principal,
        principal_name=principal_name,
        quota=quota,
    )
    for _ in range(ROUNDS):
        row = storage.run(lambda transitions: transitions.read(space, name))
        if row and same(row.nonce, nonce):
            # The reply to our own take was lost on the way from the database.
            if row.is_live:
                lease_changed.send_robust(sender=None, space=space, name=name)
                return granted(row, capability)
            break
        if row and row.is_overdue and same(row.attempt_digest, grant.attempt_digest):
            # About to be told that its term is over, so it must be over: see `_not_current` of the engine.
            settle_overdue(space, name)
            continue
        if row and (known := _known(row, grant, form)):
            return known
        if group_id is not None and isinstance(gone := groups.inspect(space, group_id), GroupUnknown | GroupOver):
            return gone
        if row and (barred := _barred(row, grant)):
            return barred
        if charge:
            charge()
            charge = None
        if row and row.is_live and group_id is not None and row.group_id == group_id:
            if extended := _extend(row, grant, form):
                return extended
            continue
        if row and not isinstance(present := state(row), Vacant):
            return present
        if admit:
            admit()
        if not row:
            storage.run(lambda transitions: transitions.found(space, name))
        taken = storage.run(lambda transitions: transitions.take(grant))
        if taken:
            lease_changed.send_robust(sender=None, space=space, name=name)
            return granted(taken, capability)
        if quota is not None and storage.run(lambda transitions: transitions.count_open(space)) >= quota:
            return QuotaReached()
    raise Unavailable("The name changes hands faster than this request could follow")


def acl_line(entry: str) -> str:
    """An entry of an acl between newlines: its own JSON, in which there is none, so no entry is part of another."""
    return f"\n{json.dumps(entry)}\n"


def acl_text(entries: Iterable[str]) -> str:
    """An acl as its row keeps it: its lines in order."""
    return "\n" + "".join(acl_line(entry)[1:] for entry in sorted(set(entries)))


def acl_entries(text: str | None) -> list[str] | None:
    """The entries of an acl as its row keeps it; None for everybody."""
    return None if text is None else [json.loads(line) for line in text.splitlines() if line]


def _known(row: Row, grant: Grant, form: Callable[[bytes], str]) -> Granted | AttemptDiffers | AttemptOver | None:
    """What an attempt is told that had its term; None for another one."""
    if grant.attempt_digest is None or not same(row.attempt_digest, grant.attempt_digest):
        return None
    if row.is_live and not same(row.content_digest, grant.content_digest):
        return AttemptDiffers(term=row.term)
    if row.is_live:
        return granted(row, _capability(row, grant, form), replayed=True)
    return AttemptOver(term=row.term) if row.left_at > row.now - ATTEMPT_MEMORY_MS else None


def _barred(row: Row, grant: Grant) -> Refused | AclDiffers | None:
    """Whether the name's acl lets the caller acquire; the take judges it again."""
    if row.acl is None:
        return None
    if not any(entry is not None and entry in row.acl for entry in (grant.principal, grant.principal_name)):
        return Refused()
    return AclDiffers() if grant.acl not in (None, row.acl) else None


def _extend(row: Row, grant: Grant, form: Callable[[bytes], str]) -> Granted | None:
    capability = _capability(row, grant, form)
    extended = storage.run(
        lambda transitions: transitions.extend(
            grant.space, grant.name, grant.group_id, keyring.digest(capability), grant.ttl_ms
        )
    )
    if not extended:
        return None
    lease_changed.send_robust(sender=None, space=grant.space, name=grant.name)
    return granted(extended, capability)


def _capability(row: Row, grant: Grant, form: Callable[[bytes], str]) -> str:
    return keyring.capability(row.key_id, bytes(row.nonce or b""), grant.space, grant.name, form)
