"""What each role may do: the whole matrix, and that services ask it."""

from __future__ import annotations

from collections.abc import Callable

import pytest

from octostore.lib.errors import Forbidden
from octostore.teams import invitations, keys, services
from octostore.teams.models import Membership, Role, Team
from octostore.teams.roles import PERMITTED, Permission, may
from tests.teams.cast import ACT, entries, join

MATRIX = {
    Permission.VIEW: "owner admin member viewer",
    Permission.USE_LOCKS: "owner admin member",
    Permission.RETRY_DELIVERIES: "owner admin member",
    Permission.READ_AUDIT: "owner admin",
    Permission.REVOKE_LOCKS: "owner admin",
    Permission.END_SESSIONS: "owner admin",
    Permission.MANAGE_KEYS: "owner admin",
    Permission.MANAGE_WEBHOOKS: "owner admin",
    Permission.MANAGE_MEMBERS: "owner admin",
    Permission.MANAGE_OWNERS: "owner",
}

Deed = Callable[[Membership, Team], object]


def revoke_a_key(by: Membership, team: Team) -> None:
    issued = keys.create(team=team, name="ci", scopes=["read"], act=ACT)
    services.revoke_key(by=by, visible=issued.key.visible)


def rotate_a_key(by: Membership, team: Team) -> None:
    issued = keys.create(team=team, name="ci", scopes=["read"], act=ACT)
    services.rotate_key(by=by, visible=issued.key.visible)


def withdraw_an_invitation(by: Membership, team: Team) -> None:
    offered = invitations.offer(team=team, email="new@example.org", role=Role.VIEWER, invited_by=None, act=ACT)
    invitations.withdraw(by=by, invitation_id=offered.invitation.id)


# What each deed takes, through the service that does it.
DEEDS: dict[str, tuple[str, Deed]] = {
    "create key": ("owner admin", lambda by, team: services.create_key(by=by, name="ci", scopes=["read"])),
    "revoke key": ("owner admin", revoke_a_key),
    "rotate key": ("owner admin", rotate_a_key),
    "invite viewer": (
        "owner admin",
        lambda by, team: invitations.invite(by=by, email="new@example.org", role=Role.VIEWER),
    ),
    "invite owner": ("owner", lambda by, team: invitations.invite(by=by, email="new@example.org", role=Role.OWNER)),
    "withdraw invitation": ("owner admin", withdraw_an_invitation),
    "make member admin": (
        "owner admin",
        lambda by, team: services.change_role(by=by, member=join(team), role=Role.ADMIN),
    ),
    "make member owner": ("owner", lambda by, team: services.change_role(by=by, member=join(team), role=Role.OWNER)),
    "make owner viewer": (
        "owner",
        lambda by, team: services.change_role(by=by, member=join(team, Role.OWNER), role=Role.VIEWER),
    ),
    "remove viewer": (
        "owner admin",
        lambda by, team: services.remove_member(by=by, member=join(team, Role.VIEWER)),
    ),
    "remove owner": ("owner", lambda by, team: services.remove_member(by=by, member=join(team, Role.OWNER))),
}


def test_policy_says_what_the_matrix_says() -> None:
    assert set(PERMITTED) == set(Role.values)
    assert set(MATRIX) == set(Permission)
    for permission, roles in MATRIX.items():
        assert {role for role in Role.values if may(role, permission)} == set(roles.split()), permission


@pytest.mark.parametrize("role", Role.values)
@pytest.mark.parametrize("deed", DEEDS)
def test_services_ask_the_policy(team: Team, deed: str, role: str) -> None:
    allowed, do = DEEDS[deed]
    by = join(team, Role(role))
    if role in allowed.split():
        do(by, team)
        assert entries(team)[-1][0] == f"user:{by.user.email}"
    else:
        with pytest.raises(Forbidden):
            do(by, team)
        assert [actor for actor, _, _ in entries(team) if actor != "system"] == []
