"""The JSON of locks and sessions: what comes in, by type alone, and what goes out.

Bounds are rules (`locks.rules`), checked after permission; types are shapes, checked before. What
`_documented` says goes into the OpenAPI document and checks nothing.
"""

from __future__ import annotations

from typing import Annotated, Any, Literal

from django.conf import settings
from msgspec import UNSET, Meta, Struct, UnsetType

from locks.rules import ACL_ENTRY_PATTERN, ACL_MAX_ENTRIES, REASON_MAX_CHARACTERS, TERM_MAX
from octostore.api.schema import DEFAULT
from octostore.lib import ids

End = Literal["released", "expired", "removed"]


def _documented(description: str, *, default: int | bool | None = None, **schema: Any) -> Meta:
    omitted = {} if default is None else {DEFAULT: default}
    return Meta(extra_json_schema={"description": description, **omitted, **schema})


LeaseId = Annotated[str, _documented("The secret that proves the hold", format="uuid")]
SessionId = Annotated[str, _documented("Whoever knows it acts as the session", format="uuid")]
HolderId = _documented("A stable pseudonym of who holds: of the session, or of the single grant", format="uuid")
Holder = _documented("A label of who holds; it proves nothing", pattern=f"^{ids.CANDIDATE_ID.pattern}$")
FencingToken = _documented("The number of the term; only rises for a name, with gaps", minimum=1, maximum=TERM_MAX)
Metadata = _documented("Shown to the whole team", pattern=r"^[^\u0000]*$", maxLength=settings.METADATA_MAX_CHARACTERS)
Instant = Annotated[str, _documented("RFC 3339 in UTC, with milliseconds", format="date-time")]
_BOUNDS = {"minimum": settings.LOCK_TTL_MIN_SECONDS, "maximum": settings.LOCK_TTL_MAX_SECONDS}
Ttl = _documented("How long the lease lasts unless renewed", default=settings.LOCK_TTL_DEFAULT_SECONDS, **_BOUNDS)
RenewedTtl = _documented("How long the lease lasts from now; omitted: the term's own TTL", **_BOUNDS)
Delay = _documented("How long nobody may acquire then", default=0, minimum=0, maximum=settings.LOCK_DELAY_MAX_SECONDS)
Reason = _documented("Why it was ended", minLength=1, maxLength=REASON_MAX_CHARACTERS)
RenewAfter = Annotated[int, _documented("Half of what is left", minimum=0)]
SafeFor = Annotated[
    int, _documented("How long the caller may act as holder, counted from the instant it sent this request", minimum=0)
]
Renewals = Annotated[int, _documented("How often it was renewed", minimum=0)]
Cursor = _documented("What `cursor` must be for the next page; null on the last")


class Acl(Struct, kw_only=True):
    """Who may acquire: `key:<visible part>` or `user:<key name>`."""

    acquire: Annotated[
        list[Annotated[str, _documented("A key, or all keys of a name", pattern=f"^(?:{ACL_ENTRY_PATTERN})$")]],
        _documented("Any of these may", minItems=1, maxItems=ACL_MAX_ENTRIES),
    ]


class AcquireInput(Struct, kw_only=True):
    ttl_seconds: Annotated[int | None, Ttl] = None
    metadata: Annotated[str | None, Metadata] = None
    holder: Annotated[str | None, Holder] = None
    session_id: SessionId | None = None
    ephemeral: Annotated[bool | None, _documented("Whether it ends with the session, at the latest", default=False)] = (
        None
    )
    lock_delay_seconds: Annotated[int | None, Delay] = None
    acl: Acl | None = None
    wait_seconds: Annotated[
        int | None,
        _documented(
            "How long to wait for the lock instead of being told who holds it",
            default=0,
            minimum=0,
            maximum=settings.WAIT_MAX_SECONDS,
        ),
    ] = None


class RenewLockInput(Struct, kw_only=True):
    """Without `ttl_seconds` the term's own TTL; a shorter one shortens."""

    lease_id: LeaseId
    ttl_seconds: Annotated[int | None, RenewedTtl] = None


class ReleaseInput(Struct, kw_only=True):
    lease_id: LeaseId
    delay: Annotated[bool | None, _documented("Whether the delay it was acquired with runs now", default=False)] = None


class RevokeInput(Struct, kw_only=True):
    fencing_token: Annotated[int, FencingToken]
    reason: Annotated[str, Reason]
    delay_seconds: Annotated[int | None, Delay] = None


class AclInput(Struct, kw_only=True):
    acl: Acl


class SessionInput(Struct, kw_only=True):
    ttl_seconds: Annotated[
        int | None,
        _documented(
            "How long the session lives unless kept alive; clamped to"
            f" {settings.SESSION_TTL_MIN_SECONDS}-{settings.SESSION_TTL_MAX_SECONDS}",
            default=settings.SESSION_TTL_DEFAULT_SECONDS,
        ),
    ] = None


class AcquiredOutput(Struct, kw_only=True, tag_field="status", tag="acquired"):
    """The caller holds the lock."""

    lease_id: LeaseId
    fencing_token: Annotated[int, FencingToken]
    expires_at: Instant
    renew_after_ms: RenewAfter
    safe_for_ms: SafeFor
    metadata: Annotated[str | None, Metadata]


class HeldOutput(Struct, kw_only=True, tag_field="status", tag="held"):
    """Somebody else holds the lock."""

    holder_id: Annotated[str, HolderId]
    holder: Annotated[str | None, Holder]
    expires_at: Instant
    retry_after_ms: Annotated[int, _documented("When to acquire again: the rest of the lease and a jitter", minimum=0)]
    metadata: Annotated[str | None, Metadata]


class RenewedOutput(Struct, kw_only=True):
    lease_id: LeaseId
    expires_at: Instant
    renew_after_ms: RenewAfter
    safe_for_ms: SafeFor


class LockOutput(Struct, kw_only=True):
    """`fencing_token` is the current or the last issued one, null if there never was one."""

    name: str
    status: Literal["held", "free", "delayed"]
    holder_id: Annotated[str | None, HolderId]
    holder: Annotated[str | None, Holder]
    fencing_token: Annotated[int | None, FencingToken]
    expires_at: Instant | None
    available_at: Instant | UnsetType = UNSET
    metadata: Annotated[str | None, Metadata]
    acl: Acl | UnsetType = UNSET


class LocksOutput(Struct, kw_only=True):
    """`prefix` is the one that was asked for, null without one; `total` counts all pages."""

    locks: list[LockOutput]
    total: Annotated[int, _documented("How many live locks there are in all", minimum=0)]
    prefix: str | None
    next_cursor: Annotated[str | None, Cursor]


class LockTermOutput(Struct, kw_only=True):
    """`key` is the visible part of the key it was acquired with; `ended_at` is absent and `end` null while it lasts."""

    fencing_token: Annotated[int, FencingToken]
    holder: Annotated[str | None, Holder]
    holder_id: Annotated[str, HolderId]
    key: str
    began_at: Instant
    ended_at: Instant | UnsetType = UNSET
    end: End | None
    reason: str | UnsetType = UNSET
    actor: Annotated[str, _documented("Who ended it, where it was not its holder")] | UnsetType = UNSET
    renewals: Renewals


class HistoryOutput(Struct, kw_only=True):
    """The newest term first."""

    name: str
    terms: list[LockTermOutput]


class AclOutput(Struct, kw_only=True):
    name: str
    acl: Acl


class SessionBegunOutput(Struct, kw_only=True):
    session_id: SessionId
    expires_at: Instant
    keepalive_interval_secs: Annotated[int, _documented("How often to keep it alive: half of its TTL", minimum=1)]


class SessionKeptOutput(Struct, kw_only=True):
    session_id: SessionId
    expires_at: Instant


class SessionOutput(Struct, kw_only=True):
    """`user_id` is the team's pseudonym."""

    session_id: SessionId
    user_id: Annotated[str, _documented("The team's pseudonym", format="uuid")]
    expires_at: Instant
    lock_count: Annotated[int, _documented("How many locks it holds", minimum=0)]
    active: bool


class SessionsOutput(Struct, kw_only=True):
    """The team's living sessions, in the order in which they began."""

    sessions: list[SessionOutput]
    next_cursor: Annotated[str | None, Cursor]


class LockFrame(Struct, kw_only=True, omit_defaults=True):
    """What a frame of a lock's stream says; never a capability, never metadata."""

    event: Literal["acquired", "renewed", "released", "expired"]
    lock_name: str
    fencing_token: Annotated[int, FencingToken] | UnsetType = UNSET
    expires_at: Instant | UnsetType = UNSET
    reason: str | UnsetType = UNSET
    observed_at: Instant
