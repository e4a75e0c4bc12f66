"""An embedded service belongs to who starts it: the first start makes them its owner."""

from __future__ import annotations

import secrets
from dataclasses import dataclass, field

from allauth.account.models import EmailAddress

from octostore.teams import services
from octostore.teams.audit import Act
from octostore.teams.models import User
from octostore.teams.writing import changing

EMAIL = "owner@localhost"
SLUG = "home"


@dataclass(frozen=True, slots=True, kw_only=True)
class Owner:
    email: str
    team: str
    password: str = field(repr=False)


def create_owner() -> Owner | None:
    """A user who is staff and owns a team, with a password known to the caller alone; None where anybody is."""
    if User.objects.exists():
        return None
    password = secrets.token_urlsafe(18)
    with changing():
        user = User.objects.create_superuser(EMAIL, password)
        EmailAddress.objects.create(user=user, email=EMAIL, verified=True, primary=True)
        services.create_team(slug=SLUG, owner=user, act=Act(actor="system", reason="first start"))
    return Owner(email=EMAIL, team=SLUG, password=password)
