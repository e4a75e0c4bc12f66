"""What a statement hands to the engine: one lease row and the instant at which it was judged."""

from __future__ import annotations

from typing import NamedTuple

# An attempt's digest answers for its term this long after the end (contract, Idempotency-Key).
ATTEMPT_MEMORY_MS = 24 * 3600 * 1000
# The largest term there can be: JavaScript's largest safe integer (G2).
TERM_MAX = 2**53 - 1
# A term this far below the present floor cannot come back when its row is forgotten (G2).
FLOOR_MARGIN_MS = 24 * 3600 * 1000


class Row(NamedTuple):
    """A lease row, columns in the order of `COLUMNS`; `now` is the database's clock at its reading."""

    id: int
    term: int
    holder: str
    metadata: str | None
    group_id: str | None
    bound: bool
    own_expires_at: int
    acl: str | None
    charged_to: str
    ttl_ms: int
    delay_ms: int
    began_at: int
    expires_at: int
    renewals: int
    ended_at: int | None
    ending: str
    available_at: int
    incarnation: int
    events: int
    nonce: bytes | None
    key_id: str
    capability_digest: bytes | None
    attempt_digest: bytes | None
    content_digest: bytes | None
    now: int

    @property
    def is_live(self) -> bool:
        return self.ended_at is None and self.expires_at > self.now

    @property
    def is_overdue(self) -> bool:
        """Past its deadline, and nobody has marked the end yet."""
        return self.ended_at is None and self.expires_at <= self.now

    @property
    def left_at(self) -> int:
        """When the last term ended: as marked, or at its deadline."""
        return self.expires_at if self.ended_at is None else self.ended_at

    @property
    def is_delayed(self) -> bool:
        """Vacant, and nobody may acquire it yet; a clock behind a marked end is no delay."""
        return self.open_at > max(self.now, self.left_at)

    @property
    def open_at(self) -> int:
        """From when a vacant name can be acquired, a lease delay included."""
        return self.expires_at + self.delay_ms if self.ended_at is None else self.available_at


COLUMNS = ", ".join(Row._fields[:-1])


class Grant(NamedTuple):
    """What a take writes; names as in the table, lengths in milliseconds."""

    space: str
    name: str
    holder: str
    metadata: str | None
    group_id: str | None
    bound: bool
    charged_to: str
    ttl_ms: int
    # From the grant to the first deadline; a renewal without a TTL of its own is for `ttl_ms`.
    first_ms: int
    delay_ms: int
    nonce: bytes
    key_id: str
    capability_digest: bytes
    attempt_digest: bytes | None
    content_digest: bytes | None
    # Left with the name where it has no acl; and the lines of which its present one must have either.
    acl: str | None
    principal: str | None
    principal_name: str | None
    # How many counted terms of the space may be live, this one included; None where it is not counted.
    quota: int | None


class Group(NamedTuple):
    """A group's row as in the table, and the instant at which it was judged."""

    id: int
    key: str
    charged_to: str
    ttl_ms: int
    began_at: int
    expires_at: int
    ended_at: int | None
    ending: str
    now: int

    @property
    def is_overdue(self) -> bool:
        """Past its deadline, and nobody has marked the end yet."""
        return self.ended_at is None and self.expires_at <= self.now


GROUP_COLUMNS = ", ".join(Group._fields[:-1])
