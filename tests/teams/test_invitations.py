"""Joining a team by a link that was mailed."""

from __future__ import annotations

from datetime import timedelta

import pytest
from django.db import connection
from django.utils import timezone

from octostore.lib.errors import Conflict, InvalidInput, NotFound
from octostore.teams import invitations
from octostore.teams.models import Invitation, Membership, Role, Team
from tests.leases.threads import together
from tests.teams.cast import entries, found_team, join, person


def invite(by: Membership, email: str = "New@Example.org", role: str = Role.MEMBER) -> invitations.Invited:
    return invitations.invite(by=by, email=email, role=role)


class TestInviting:
    def test_link_finds_team_and_role(self, owner: Membership) -> None:
        invited = invite(owner, role=Role.ADMIN)
        found = invitations.find(invited.text)
        assert (found.team, found.email, found.role) == (owner.team, "new@example.org", Role.ADMIN)
        assert timedelta(days=6.9) < found.expires_at - timezone.now() <= timedelta(days=7)

    def test_secret_is_neither_stored_nor_shown(self, owner: Membership) -> None:
        invited = invite(owner)
        with connection.cursor() as cursor:
            for table in ("teams_invitation", "teams_auditentry"):
                cursor.execute(f"SELECT * FROM {table}")
                assert invited.text not in repr(cursor.fetchall())
        assert invited.text not in repr(invited)

    def test_inviting_again_replaces_the_open_invitation(self, owner: Membership) -> None:
        first, second = invite(owner), invite(owner, role=Role.VIEWER)
        with pytest.raises(NotFound):
            invitations.find(first.text)
        assert invitations.find(second.text).role == Role.VIEWER

    def test_a_member_needs_no_invitation(self, team: Team, owner: Membership) -> None:
        member = join(team)
        with pytest.raises(Conflict):
            invite(owner, member.user.email.upper())

    @pytest.mark.parametrize("email", ["", "x", "a@b@c", "a b@example.org", "a@example.org\n"])
    def test_bad_address_is_refused(self, owner: Membership, email: str) -> None:
        if email.endswith("\n"):
            assert invite(owner, email).invitation.email == "a@example.org"
            return
        with pytest.raises(InvalidInput):
            invite(owner, email)

    def test_unknown_role_is_refused(self, owner: Membership) -> None:
        with pytest.raises(InvalidInput):
            invite(owner, role="god")


class TestLink:
    def test_mailed_one_proves_that_it_was(self, owner: Membership) -> None:
        first, second = invite(owner), invite(owner, "other@example.org")
        proof = invitations.path(first.text, mailed=True).partition("?mailed=")[2]
        assert invitations.is_mailed(first.text, proof)
        assert not invitations.is_mailed(second.text, proof)

    @pytest.mark.parametrize("proof", ["", "x", "A" * 43, "\ud800", "é"])
    def test_nothing_else_does(self, owner: Membership, proof: str) -> None:
        invited = invite(owner)
        assert "?" not in invitations.path(invited.text, mailed=False)
        assert not invitations.is_mailed(invited.text, proof)


class TestRenewing:
    def test_new_link_replaces_the_old_one(self, team: Team, owner: Membership) -> None:
        first = invite(owner, role=Role.VIEWER)
        Invitation.objects.update(expires_at=timezone.now())
        second = invitations.renew(by=owner, invitation_id=first.invitation.pk)
        assert invitations.find(second.text).role == Role.VIEWER
        assert [one.pk for one in invitations.pending(team=team)] == [second.invitation.pk]

    def test_closed_one_stays_closed(self, team: Team, owner: Membership) -> None:
        first = invite(owner)
        invitations.withdraw(by=owner, invitation_id=first.invitation.pk)
        with pytest.raises(Conflict):
            invitations.renew(by=owner, invitation_id=first.invitation.pk)
        assert invitations.pending(team=team) == []

    def test_another_teams_is_not_found(self, owner: Membership) -> None:
        first = invite(join(found_team(), Role.OWNER))
        with pytest.raises(NotFound):
            invitations.renew(by=owner, invitation_id=first.invitation.pk)
        assert invitations.find(first.text)


class TestAccepting:
    def test_whoever_accepts_joins_in_the_role(self, team: Team, owner: Membership) -> None:
        user = person()
        member = invitations.accept(text=invite(owner, role=Role.VIEWER).text, user=user, request_id="req_1")
        assert (member.team, member.user, member.role) == (team, user, Role.VIEWER)
        assert entries(team)[-1] == (f"user:{user.email}", "invitation_accepted", "user:new@example.org")

    def test_link_works_once(self, owner: Membership) -> None:
        text = invite(owner).text
        invitations.accept(text=text, user=person())
        with pytest.raises(NotFound):
            invitations.accept(text=text, user=person())

    def test_one_of_many_at_once_joins(self, team: Team, owner: Membership) -> None:
        text = invite(owner).text
        users = [person() for _ in range(4)]

        def accept(number: int) -> bool:
            try:
                invitations.accept(text=text, user=users[number])
            except NotFound:
                return False
            return True

        assert sorted(together(4, accept)) == [False, False, False, True]
        assert team.memberships.filter(user__in=users).count() == 1

    def test_a_member_keeps_the_role(self, team: Team, owner: Membership) -> None:
        text = invite(owner, role=Role.VIEWER).text
        assert invitations.accept(text=text, user=owner.user).role == Role.OWNER

    def test_expired_link_is_not_found(self, owner: Membership) -> None:
        invited = invite(owner)
        Invitation.objects.update(expires_at=timezone.now())
        with pytest.raises(NotFound):
            invitations.accept(text=invited.text, user=person())

    @pytest.mark.parametrize("text", ["", "x", "\ud800", "\0", "A" * 43])
    def test_unknown_link_is_not_found(self, owner: Membership, text: str) -> None:
        invite(owner)
        with pytest.raises(NotFound):
            invitations.find(text)


class TestWithdrawing:
    def test_withdrawn_link_is_not_found(self, team: Team, owner: Membership) -> None:
        invited = invite(owner)
        invitations.withdraw(by=owner, invitation_id=invited.invitation.id)
        with pytest.raises(NotFound):
            invitations.find(invited.text)
        assert entries(team)[-1][1] == "invitation_withdrawn"

    def test_accepted_one_is_a_conflict(self, team: Team, owner: Membership) -> None:
        invited = invite(owner)
        invitations.accept(text=invited.text, user=person())
        with pytest.raises(Conflict):
            invitations.withdraw(by=owner, invitation_id=invited.invitation.id)
        assert entries(team)[-1][1] == "invitation_accepted"

    def test_another_teams_invitation_is_not_found(self, owner: Membership) -> None:
        foreign = invite(join(found_team(), Role.OWNER))
        with pytest.raises(NotFound):
            invitations.withdraw(by=owner, invitation_id=foreign.invitation.id)
        assert invitations.find(foreign.text)
