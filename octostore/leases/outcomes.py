"""What the engine answers. Losing is a value; only misused authority is an exception."""

from __future__ import annotations

import re
from dataclasses import dataclass
from datetime import timedelta
from typing import Self

from octostore.leases.models import Ending


@dataclass(frozen=True, slots=True, kw_only=True)
class Hold:
    """The current or the last term of a name. Instants are milliseconds since 1970."""

    term: int
    holder: str
    metadata: str | None
    group_id: str | None
    ttl: timedelta
    # How long nobody may acquire after it expires.
    delay: timedelta
    began_at: int
    expires_at: int
    renewals: int
    # On whose account it counts, as a pseudonym.
    charged_to: str
    # Whether it ends with its group.
    bound: bool
    # Null while it lives.
    ended_at: int | None
    ending: Ending | None


@dataclass(frozen=True, slots=True, kw_only=True)
class Revision:
    """How far a name's events have been counted: `<incarnation>-<n>` on the wire."""

    incarnation: int
    n: int

    def __str__(self) -> str:
        return f"{self.incarnation}-{self.n}"

    @classmethod
    def parse(cls, text: str) -> Self | None:
        """The revision that `text` is the wire form of; None when it is none."""
        match = re.fullmatch(r"([0-9]{1,16})-([0-9]{1,16})", text)
        return cls(incarnation=int(match[1]), n=int(match[2])) if match else None


@dataclass(frozen=True, slots=True, kw_only=True)
class Granted:
    """The caller holds the name."""

    hold: Hold
    # The secret that renews and releases; shown to the holder alone.
    capability: str
    # From the database's clock at the grant or renewal to the deadline.
    remaining: timedelta
    # Whether this repeats an earlier answer to the same attempt.
    replayed: bool = False


@dataclass(frozen=True, slots=True, kw_only=True)
class Held:
    """Somebody holds the name."""

    hold: Hold
    remaining: timedelta
    revision: Revision
    # When this was so, in milliseconds since 1970.
    observed_at: int


@dataclass(frozen=True, slots=True, kw_only=True)
class Delayed:
    """Nobody holds the name, and nobody may yet."""

    last: Hold
    available_at: int
    remaining: timedelta
    revision: Revision
    observed_at: int


@dataclass(frozen=True, slots=True, kw_only=True)
class Vacant:
    """Anybody may acquire the name; `last` is None when nobody ever did."""

    last: Hold | None
    revision: Revision
    observed_at: int


@dataclass(frozen=True, slots=True, kw_only=True)
class Described:
    """A name as it is at one instant, and whom its acl lists; None where everybody may acquire it."""

    state: Held | Delayed | Vacant
    acl: list[str] | None


@dataclass(frozen=True, slots=True, kw_only=True)
class AttemptDiffers:
    """The attempt's key was used with other content, and that term lives."""

    term: int


@dataclass(frozen=True, slots=True, kw_only=True)
class AttemptOver:
    """The attempt had its term, and that term is over."""

    term: int


@dataclass(frozen=True, slots=True)
class Refused:
    """The name's acl does not list the caller."""


@dataclass(frozen=True, slots=True)
class AclDiffers:
    """The name has another acl than the one that was to be left with it."""


@dataclass(frozen=True, slots=True)
class QuotaReached:
    """As many names of the space are live as may be."""


@dataclass(frozen=True, slots=True)
class GroupUnknown:
    """The space has no such group."""


@dataclass(frozen=True, slots=True, kw_only=True)
class GroupOver:
    """The group has ended, and stays so; the instant in milliseconds since 1970."""

    key: str
    ended_at: int


@dataclass(frozen=True, slots=True, kw_only=True)
class Alive:
    """A group that lives. Instants are milliseconds since 1970."""

    id: int
    key: str
    charged_to: str
    ttl: timedelta
    began_at: int
    expires_at: int
    remaining: timedelta


@dataclass(frozen=True, slots=True, kw_only=True)
class Released:
    """The term that has just ended by its holder's word."""

    hold: Hold


@dataclass(frozen=True, slots=True, kw_only=True)
class Revoked:
    """The term that has just ended by an operator's word."""

    hold: Hold


@dataclass(frozen=True, slots=True, kw_only=True)
class Past:
    """One term of a name's history, instants in milliseconds since 1970."""

    term: int
    holder: str
    group_id: str | None
    charged_to: str
    metadata: str | None
    began_at: int
    ended_at: int | None
    ending: Ending | None
    renewals: int
    reason: str
    actor: str
