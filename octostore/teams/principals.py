"""Who is calling, once a key has proved it."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal, Protocol, TypeAlias, get_args

Scope: TypeAlias = Literal["read", "locks", "webhooks", "admin"]
SCOPES: tuple[Scope, ...] = get_args(Scope)

# Who may do the one may do the other: whoever takes locks may look at them.
_GIVEN_BY: dict[Scope, frozenset[Scope]] = {
    "read": frozenset({"read", "locks", "admin"}),
    "locks": frozenset({"locks", "admin"}),
    "webhooks": frozenset({"webhooks", "admin"}),
    "admin": frozenset({"admin"}),
}


class Acting(Protocol):
    """Who acts for a team: one of its keys, or one of its members."""

    @property
    def team_id(self) -> int: ...

    @property
    def lock_space(self) -> str:
        """Where the team's locks live among all leases."""

    @property
    def actor(self) -> str:
        """How history and audit name who acts."""


LOCK_SPACES = "locks/"


def lock_space(team_uuid: str) -> str:
    """Where a team's locks live among all leases."""
    return f"{LOCK_SPACES}{team_uuid}"


def team_uuid_of(space: str) -> str | None:
    """Whose locks live there; None where none do."""
    return space.removeprefix(LOCK_SPACES) if space.startswith(LOCK_SPACES) else None


@dataclass(frozen=True, slots=True, kw_only=True)
class Principal:
    """An API key in use, and the team it belongs to, which is all it can see."""

    team_id: int
    # The team's public pseudonym.
    team_uuid: str
    key_id: int
    # How often the key's secret was replaced before the one that was shown.
    rotation: int
    visible: str
    key_name: str
    scopes: frozenset[str]
    # The beginning that every lock's name must have for this key.
    prefix: str | None

    def may(self, scope: Scope) -> bool:
        """Whether the key has the scope, or one that includes it; admin includes all."""
        return not _GIVEN_BY[scope].isdisjoint(self.scopes)

    def covers(self, name: str) -> bool:
        """Whether a lock of this name is within the key's prefix."""
        return self.prefix is None or name.startswith(self.prefix)

    @property
    def lock_space(self) -> str:
        return lock_space(self.team_uuid)

    @property
    def actor(self) -> str:
        """How history and audit name the key."""
        return f"key:{self.visible}"
