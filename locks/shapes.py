"""The JSON of locks and sessions: what comes in, by type alone, and what goes out.

Bounds are rules (`locks.rules`), checked after permission; types are shapes, checked before.
"""

from __future__ import annotations

from typing import Literal

from msgspec import UNSET, Struct, UnsetType

End = Literal["released", "expired", "removed"]


class Acl(Struct, kw_only=True):
    """Who may acquire: `key:<visible part>` or `user:<key name>`."""

    acquire: list[str]


class AcquireInput(Struct, kw_only=True):
    ttl_seconds: int | None = None
    metadata: str | None = None
    holder: str | None = None
    session_id: str | None = None
    ephemeral: bool | None = None
    lock_delay_seconds: int | None = None
    acl: Acl | None = None
    wait_seconds: int | None = None


class RenewInput(Struct, kw_only=True):
    """Without `ttl_seconds` the term's own TTL; a shorter one shortens."""

    lease_id: str
    ttl_seconds: int | None = None


class ReleaseInput(Struct, kw_only=True):
    lease_id: str
    delay: bool | None = None


class RevokeInput(Struct, kw_only=True):
    fencing_token: int
    reason: str
    delay_seconds: int | None = None


class AclInput(Struct, kw_only=True):
    acl: Acl


class SessionInput(Struct, kw_only=True):
    ttl_seconds: int | None = None


class AcquiredOutput(Struct, kw_only=True, tag_field="status", tag="acquired"):
    """The caller holds the lock; `lease_id` is a secret."""

    lease_id: str
    fencing_token: int
    expires_at: str
    renew_after_ms: int
    safe_for_ms: int
    metadata: str | None


class HeldOutput(Struct, kw_only=True, tag_field="status", tag="held"):
    """Somebody else holds the lock."""

    holder_id: str
    holder: str | None
    expires_at: str
    retry_after_ms: int
    metadata: str | None


class RenewedOutput(Struct, kw_only=True):
    lease_id: str
    expires_at: str
    renew_after_ms: int
    safe_for_ms: int


class LockOutput(Struct, kw_only=True):
    """`fencing_token` is the current or the last issued one, null if there never was one."""

    name: str
    status: Literal["held", "free", "delayed"]
    holder_id: str | None
    holder: str | None
    fencing_token: int | None
    expires_at: str | None
    available_at: str | UnsetType = UNSET
    metadata: str | None
    acl: Acl | UnsetType = UNSET


class LocksOutput(Struct, kw_only=True):
    locks: list[LockOutput]
    total: int
    prefix: str
    next_cursor: str | None


class TermOutput(Struct, kw_only=True):
    """`key` is the visible part of the key it was acquired with."""

    fencing_token: int
    holder: str | None
    holder_id: str
    key: str
    began_at: str
    ended_at: str | UnsetType = UNSET
    end: End | None
    reason: str | UnsetType = UNSET
    actor: str | UnsetType = UNSET
    renewals: int


class HistoryOutput(Struct, kw_only=True):
    name: str
    terms: list[TermOutput]


class AclOutput(Struct, kw_only=True):
    name: str
    acl: Acl


class SessionBegunOutput(Struct, kw_only=True):
    session_id: str
    expires_at: str
    keepalive_interval_secs: int


class SessionKeptOutput(Struct, kw_only=True):
    session_id: str
    expires_at: str


class SessionOutput(Struct, kw_only=True):
    session_id: str
    user_id: str
    expires_at: str
    lock_count: int
    active: bool


class SessionsOutput(Struct, kw_only=True):
    sessions: list[SessionOutput]
    next_cursor: str | None


class LockFrame(Struct, kw_only=True, omit_defaults=True):
    """What a frame of a lock's stream says; never a capability, never metadata."""

    event: Literal["acquired", "renewed", "released", "expired"]
    lock_name: str
    fencing_token: int | UnsetType = UNSET
    expires_at: str | UnsetType = UNSET
    reason: str | UnsetType = UNSET
    observed_at: str
