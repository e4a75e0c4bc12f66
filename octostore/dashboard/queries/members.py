"""Who belongs to a team, and who is invited."""

from __future__ import annotations

from dataclasses import dataclass
from datetime import datetime

from allauth.mfa.models import Authenticator
from django.db.models import Exists, OuterRef

from octostore.teams.models import Membership, Team
from octostore.teams.writing import reading


@dataclass(frozen=True, slots=True, kw_only=True)
class Member:
    id: int
    user_id: int
    email: str
    role: str
    has_second_factor: bool
    last_login: datetime | None
    joined_at: datetime


def listing(team: Team) -> list[Member]:
    """The team's members in the order in which they joined."""
    factor = Authenticator.objects.filter(user_id=OuterRef("user_id"), type=Authenticator.Type.TOTP)
    found = team.memberships.select_related("user").annotate(has_second_factor=Exists(factor)).order_by("id")
    return [
        Member(
            id=one.pk,
            user_id=one.user_id,
            email=one.user.email,
            role=one.role,
            has_second_factor=one.has_second_factor,
            last_login=one.user.last_login,
            joined_at=one.joined_at,
        )
        for one in reading(lambda: list(found))
    ]


def one(team: Team, member_id: int) -> Membership | None:
    return reading(lambda: team.memberships.select_related("user", "team").filter(pk=member_id).first())
