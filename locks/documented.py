"""What the endpoints of locks and sessions have in common in the OpenAPI document: parameters, errors, examples."""

from __future__ import annotations

from typing import Literal

from django.conf import settings
from msgspec import UNSET, UnsetType

from locks import shapes
from locks.names import NAME_MAX_BYTES, RULE
from octostore.api.schema import parameter
from octostore.lib import ids
from octostore.lib.errors import (
    InvalidLockName,
    InvalidTTL,
    LeaseNotCurrent,
    LockDelayed,
    RateLimited,
)

TAG = "Locks"
LOCK = "repo/issue-1842"
TERM = 28_937_790_123
LEASE_ID = "7d0f2b6e-41c5-4a0b-9e0e-5f3a1c9d2b84"
SESSION_ID = "0c7f4a52-9a3e-4d1c-8a76-2f9c51e0b3d7"
HOLDER_ID = "5b1e9f0a-6c2d-4e37-b8f4-90a7d3c6e512"
VISIBLE = "k3v9x0q2m7ab"
EXPIRES_AT = "2026-12-01T22:10:20.123Z"
AVAILABLE_AT = "2026-12-01T22:10:30.123Z"
ACL = shapes.Acl(acquire=[f"key:{VISIBLE}", "user:ci"])

NAME = parameter(
    "path",
    "name",
    f"The lock's name, like `{LOCK}`, its slashes as `%2F` or as they are: {RULE}.",
    minLength=1,
    maxLength=NAME_MAX_BYTES,
)
ATTEMPT = parameter(
    "header",
    "Idempotency-Key",
    "A secret of the caller, a fresh UUID for each attempt to hold this lock. While the term it won lives, the same "
    "key with the same body gives the same term and `lease_id`, with fresh times.",
    pattern=f"^{ids.IDEMPOTENCY_KEY.pattern}$",
)
HOLDERS_LEASE = parameter(
    "header",
    "X-Lease-Id",
    "The present holder's `lease_id`; without it the key needs the scope `admin`.",
    format="uuid",
)
LAST_EVENT_ID = parameter(
    "header", "Last-Event-ID", f"The id of the last event received, like `{TERM}-7`.", pattern=r"^[0-9]+-[0-9]+$"
)
REPLAYED = {"Idempotent-Replayed": ("Present when this answer repeats an earlier one to the same key.", "true")}

BAD_NAME = InvalidLockName(RULE)
BAD_TTL = InvalidTTL(f"ttl_seconds must be from {settings.LOCK_TTL_MIN_SECONDS} to {settings.LOCK_TTL_MAX_SECONDS}")
STALE = LeaseNotCurrent(ended="expired")
OVER_STREAMS = RateLimited(f"No more than {settings.TEAM_STREAMS_MAX} can be open at once", retry_after_ms=5000)
DELAYED = LockDelayed(retry_after_ms=8_417)
DELAYED.extra = {"status": "delayed", "available_at": AVAILABLE_AT, "lock_delay_seconds": 10}


def held(acl: shapes.Acl | UnsetType = UNSET) -> shapes.LockOutput:
    return shapes.LockOutput(
        name=LOCK,
        status="held",
        holder_id=HOLDER_ID,
        holder="worker-7",
        fencing_token=TERM,
        expires_at=EXPIRES_AT,
        metadata="attempt 2",
        acl=acl,
    )


def vacant(
    status: Literal["free", "delayed"], *, term: int | None, available_at: str | UnsetType = UNSET
) -> shapes.LockOutput:
    return shapes.LockOutput(
        name=LOCK,
        status=status,
        holder_id=None,
        holder=None,
        fencing_token=term,
        expires_at=None,
        available_at=available_at,
        metadata=None,
    )
