"""What people do with teams: found one, invite, join, change roles, leave, look after keys and quotas.

Each change writes its audit entry in the same transaction. `by` is the membership of the one who
acts; what the role does not include raises Forbidden.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping
from datetime import datetime, timedelta

from django.db import IntegrityError

from octostore.lib.errors import Conflict, InvalidInput, NotFound
from octostore.teams import keys, limits, roles
from octostore.teams.audit import Act
from octostore.teams.keys import Issued
from octostore.teams.models import ApiKey, Membership, Quota, Role, Team, User
from octostore.teams.roles import Permission
from octostore.teams.writing import changing

SLUG_RULE = "1 to 40 of a-z 0-9 -, beginning and ending with a letter or a digit"
QUOTA_MAX = 1_000_000

_SLUG = re.compile(r"[a-z0-9](?:[a-z0-9-]{0,38}[a-z0-9])?")


def create_team(*, slug: str, owner: User | None, act: Act) -> Team:
    """A new team; InvalidInput for a slug that breaks the rule, Conflict for one that is taken."""
    if not _SLUG.fullmatch(slug):
        raise InvalidInput(f"A team's slug has {SLUG_RULE}")
    try:
        with changing():
            team = Team.objects.create(slug=slug)
            act.record(team.id, "team_created", f"team:{slug}")
            if owner:
                Membership.objects.create(team=team, user=owner, role=Role.OWNER)
                act.record(team.id, "member_added", f"user:{owner.email}", after={"role": Role.OWNER})
    except IntegrityError as error:
        raise Conflict("There is a team of this slug already") from error
    return team


def find_team(*, slug: str) -> Team:
    """Raises NotFound."""
    team = Team.objects.filter(slug=slug).first()
    if team is None:
        raise NotFound("There is no such team")
    return team


def membership_of(*, slug: str, user: User) -> Membership:
    """The user's membership; NotFound for a team that is not theirs as for none at all."""
    member = Membership.objects.select_related("team", "user").filter(team__slug=slug, user=user).first()
    if member is None:
        raise NotFound
    return member


def change_role(*, by: Membership, member: Membership, role: str, request_id: str = "") -> None:
    """Give a member of the same team another role. Raises Conflict where the last owner would be one no more."""
    if role not in Role.values:
        raise InvalidInput(f"role must be one of {', '.join(Role.values)}")
    with changing():
        present = _lock(by, member)
        roles.require(by, roles.to_manage(present.role))
        roles.require(by, roles.to_manage(role))
        if role != present.role:
            _keep_an_owner(present)
            before, present.role = present.role, role
            present.save(update_fields=["role"])
            _act(by, request_id).record(
                by.team_id, "role_changed", f"user:{present.user.email}", before={"role": before}, after={"role": role}
            )


def remove_member(*, by: Membership, member: Membership, request_id: str = "") -> None:
    """Take a member out of the team. Everybody may leave, but for the last owner: Conflict."""
    with changing():
        present = _lock(by, member)
        if present.user_id != by.user_id:
            roles.require(by, roles.to_manage(present.role))
        _keep_an_owner(present)
        action = "member_left" if present.user_id == by.user_id else "member_removed"
        _act(by, request_id).record(by.team_id, action, f"user:{present.user.email}", before={"role": present.role})
        present.delete()


def create_key(
    *,
    by: Membership,
    name: str,
    scopes: Iterable[str],
    prefix: str | None = None,
    expires_at: datetime | None = None,
    request_id: str = "",
) -> Issued:
    """A new key of the member's team."""
    roles.require(by, Permission.MANAGE_KEYS)
    return keys.create(
        team=by.team, name=name, scopes=scopes, prefix=prefix, expires_at=expires_at, act=_act(by, request_id)
    )


def rotate_key(*, by: Membership, visible: str, request_id: str = "") -> str:
    """A new text for a key of the member's team. Raises NotFound."""
    roles.require(by, Permission.MANAGE_KEYS)
    return keys.rotate(team_id=by.team_id, visible=visible, act=_act(by, request_id))


def replace_key(*, by: Membership, visible: str, ends_in: timedelta, request_id: str = "") -> Issued:
    """A new key in the place of one of the member's team, which ends after `ends_in`. Raises NotFound."""
    roles.require(by, Permission.MANAGE_KEYS)
    return keys.replace(team_id=by.team_id, visible=visible, ends_in=ends_in, act=_act(by, request_id))


def revoke_key(*, by: Membership, visible: str, reason: str = "", request_id: str = "") -> None:
    """End a key of the member's team. Raises NotFound."""
    roles.require(by, Permission.MANAGE_KEYS)
    keys.revoke(team_id=by.team_id, visible=visible, act=_act(by, request_id, reason))


def set_quota(*, team: Team, changes: Mapping[str, int | None], act: Act) -> Quota:
    """Staff give a team other limits than the service's; None takes one back to that. Raises InvalidInput."""
    for name, value in changes.items():
        if name not in limits.NAMES:
            raise InvalidInput(f"a quota is of {', '.join(limits.NAMES)}")
        if value is not None and not 0 <= value <= QUOTA_MAX:
            raise InvalidInput(f"{name} must be from 0 to {QUOTA_MAX}")
    with changing():
        quota, _ = Quota.objects.select_for_update().get_or_create(team=team)
        before = {name: getattr(quota, name) for name in changes}
        for name, value in changes.items():
            setattr(quota, name, value)
        quota.save()
        act.record(team.id, "quota_changed", f"team:{team.slug}", before=before, after=dict(changes))
    limits.forget(team.id)
    return quota


def live_keys(*, team: Team) -> list[ApiKey]:
    """The keys of a team that are not revoked, oldest first."""
    return list(team.keys.filter(revoked_at=None).order_by("id"))


def _lock(by: Membership, member: Membership) -> Membership:
    """The member as it stands, under the team's lock, so that two owners never leave at once."""
    Team.objects.select_for_update().get(pk=by.team_id)
    present = Membership.objects.select_related("user").filter(pk=member.pk, team_id=by.team_id).first()
    if present is None:
        raise NotFound
    # Whoever acts may have lost the role meanwhile.
    by.refresh_from_db(fields=["role"])
    return present


def _keep_an_owner(leaving: Membership) -> None:
    owners = Membership.objects.filter(team_id=leaving.team_id, role=Role.OWNER)
    if leaving.role == Role.OWNER and not owners.exclude(pk=leaving.pk).exists():
        raise Conflict("A team keeps at least one owner")


def _act(by: Membership, request_id: str, reason: str = "") -> Act:
    return Act(actor=by.actor, reason=reason, request_id=request_id)
