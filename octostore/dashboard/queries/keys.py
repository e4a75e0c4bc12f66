"""The API keys of a team: what may be seen of them, which is all but their digests."""

from __future__ import annotations

from collections.abc import Collection
from dataclasses import dataclass
from datetime import datetime, timedelta

from django.utils import timezone

from octostore.teams.models import ApiKey, Membership, Team
from octostore.teams.writing import reading

SOON = timedelta(days=7)
UNUSED = timedelta(days=90)
SHOWN = ("usable", "unused", "over")

_COLUMNS = (
    "team",
    "visible",
    "name",
    "scopes",
    "prefix",
    "created_by",
    "created_at",
    "last_used_at",
    "expires_at",
    "revoked_at",
)


@dataclass(frozen=True, slots=True, kw_only=True)
class Key:
    visible: str
    name: str
    scopes: list[str]
    # None for all names.
    prefix: str | None
    created_by: str
    created_at: datetime
    last_used_at: datetime | None
    # None for never.
    expires_at: datetime | None
    # `active`, `expiring`, `expired` or `revoked`.
    status: str

    @property
    def is_usable(self) -> bool:
        return self.status in {"active", "expiring"}


def listing(team: Team, shown: str = "usable") -> list[Key]:
    """The team's keys, newest first: those that can be used, those of them that nobody uses, or those that are over."""
    now = timezone.now()
    keys = [_key(key, now) for key in reading(lambda: list(team.keys.only(*_COLUMNS).order_by("-id")))]
    match shown:
        case "over":
            return [key for key in keys if not key.is_usable]
        case "unused":
            return [key for key in keys if key.is_usable and (key.last_used_at or key.created_at) < now - UNUSED]
        case _:
            return [key for key in keys if key.is_usable]


def one(team: Team, visible: str) -> Key | None:
    """A key of the team, also one that is over."""
    key = reading(lambda: team.keys.only(*_COLUMNS).filter(visible=visible).first())
    return _key(key, timezone.now()) if key else None


def names_of(by: Membership, visible: Collection[str]) -> dict[str, str]:
    """What the member's team calls these of its keys."""
    found = ApiKey.objects.filter(team_id=by.team_id, visible__in=visible).values_list("visible", "name")
    return reading(lambda: dict(found))


def _key(key: ApiKey, now: datetime) -> Key:
    return Key(
        visible=key.visible,
        name=key.name,
        scopes=key.scopes.split(),
        prefix=key.prefix,
        created_by=key.created_by,
        created_at=key.created_at,
        last_used_at=key.last_used_at,
        expires_at=key.expires_at,
        status=_status(key, now),
    )


def _status(key: ApiKey, now: datetime) -> str:
    if key.revoked_at:
        return "revoked"
    if key.expires_at is None or key.expires_at > now + SOON:
        return "active"
    return "expiring" if key.expires_at > now else "expired"
