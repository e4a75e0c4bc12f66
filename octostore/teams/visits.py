"""Whether what a person opened on a page may go on: still signed in, and still who they were to the team."""

from __future__ import annotations

from collections.abc import Set
from dataclasses import dataclass, field

from django.contrib.sessions.models import Session
from django.utils import timezone
from django.utils.crypto import constant_time_compare

from octostore.teams.models import Membership, User
from octostore.teams.writing import reading


@dataclass(frozen=True, slots=True, kw_only=True)
class Visit:
    """A signed-in person with a page open. `teams` are those it tells of; `as_staff`: it is one of staff."""

    user_id: int
    session: str = field(repr=False)
    # Changes with the password, as Django's own check of sessions has it.
    password_stamp: str = field(repr=False)
    teams: frozenset[int]
    as_staff: bool


def still_there(visits: Set[Visit]) -> set[Visit]:
    """Those who are signed in as they were, and still members or staff. Three queries. Raises Unavailable."""
    if not visits:
        return set()
    people = User.objects.filter(id__in={one.user_id for one in visits}, is_active=True)
    users = reading(lambda: {user.id: user for user in people.only("id", "password", "is_staff")})
    sessions = Session.objects.filter(session_key__in={one.session for one in visits}, expire_date__gt=timezone.now())
    signed_in = reading(lambda: set(sessions.values_list("session_key", flat=True)))
    belonging = Membership.objects.filter(user_id__in=users).values_list("user_id", "team_id")
    members = reading(lambda: set(belonging))
    return {
        one
        for one in visits
        if one.session in signed_in
        and (user := users.get(one.user_id))
        and constant_time_compare(user.get_session_auth_hash(), one.password_stamp)
        and all((one.user_id, team) in members for team in one.teams)
        and (user.is_staff or not one.as_staff)
    }
