"""Who belongs to a team: seen by all, changed by those who manage members, never left without an owner."""

from __future__ import annotations

import re
from typing import Any

from allauth.mfa.models import Authenticator
from pytest_django import DjangoAssertNumQueries

from octostore.dashboard.views.members import WORDS
from octostore.teams import keys
from octostore.teams.models import Membership, Role, Team
from octostore.teams.roles import Permission
from tests.dashboard.cast import Person, rows, seen, text_of
from tests.teams.cast import ACT, entries, found_team, join


def path(team: Team, rest: str = "") -> str:
    return f"/t/{team.slug}/members{rest}"


def give(person: Person, member: Membership, role: str) -> Any:
    """Send the form beside the member."""
    page = person.get(path(member.team))
    return person.fill(page, path(member.team, f"/{member.pk}/role"), follow=True, role=role)


def role_of(member: Membership) -> str:
    member.refresh_from_db()
    return member.role


class TestListing:
    def test_says_who_is_what_since_when(self, viewer: Person, owner: Person, team: Team) -> None:
        Authenticator.objects.create(user=owner.user, type=Authenticator.Type.TOTP, data={})
        told = rows(viewer.get(path(team)))
        assert [(viewer.user.email in row, owner.user.email in row) for row in told].count((False, True)) == 1
        [mine] = [row for row in told if viewer.user.email in row]
        [theirs] = [row for row in told if owner.user.email in row]
        assert "(you) viewer off just now" in mine
        assert "owner on" in theirs

    def test_matrix_names_every_permission(self, viewer: Person, team: Team) -> None:
        assert set(WORDS) == set(Permission)
        text = seen(viewer.get(path(team)))
        assert f"{WORDS[Permission.MANAGE_OWNERS]} yes no no no" in text
        assert f"{WORDS[Permission.REVOKE_LOCKS]} yes yes no no" in text

    def test_who_may_change_nothing_is_offered_nothing(self, member: Person, owner: Person, team: Team) -> None:
        page = text_of(member.get(path(team)))
        assert "<select" not in page
        assert path(team, "/invite") not in page
        assert len(re.findall(r'href="[^"]*/remove"', page)) == 1  # to leave

    def test_admin_is_offered_nothing_about_owners(self, admin: Person, owner: Person, team: Team) -> None:
        page = text_of(admin.get(path(team)))
        assert path(team, f"/{owner.member.pk}/role") not in page
        assert path(team, f"/{owner.member.pk}/remove") not in page
        assert 'value="owner"' not in page

    def test_many_cost_no_more_queries_than_one(
        self, owner: Person, team: Team, django_assert_num_queries: DjangoAssertNumQueries
    ) -> None:
        for _ in range(10):
            join(team)
        owner.get(path(team))  # takes the greeting
        # Session, user, membership; members, invitations.
        with django_assert_num_queries(5):
            owner.get(path(team))


class TestRoles:
    def test_change_is_told_and_audited(self, owner: Person, team: Team) -> None:
        member = join(team)
        page = give(owner, member, "admin")
        assert role_of(member) == Role.ADMIN
        assert f"{member.user.email} is admin now" in seen(page)
        assert entries(team) == [(owner.member.actor, "role_changed", member.actor)]

    def test_admin_makes_nobody_an_owner(self, admin: Person, team: Team) -> None:
        member = join(team)
        give(admin, member, "owner")
        assert role_of(member) == Role.MEMBER

    def test_admin_lowers_no_owner(self, admin: Person, owner: Person, team: Team) -> None:
        give(admin, owner.member, "viewer")
        assert role_of(owner.member) == Role.OWNER

    def test_last_owner_stays_one(self, owner: Person, team: Team) -> None:
        page = give(owner, owner.member, "admin")
        assert role_of(owner.member) == Role.OWNER
        assert "at least one owner" in seen(page)

    def test_unknown_role_is_refused(self, owner: Person, team: Team) -> None:
        member = join(team)
        assert "no such role" in seen(give(owner, member, "god"))
        assert role_of(member) == Role.MEMBER

    def test_member_of_another_team_is_not_found(self, owner: Person, team: Team) -> None:
        stranger = join(found_team())
        page = owner.get(path(team))
        answer = owner.fill(page, path(team, f"/{stranger.pk}/role"), role="viewer")
        assert answer.status_code == 404
        assert role_of(stranger) == Role.MEMBER


class TestRemoving:
    def test_page_lists_the_keys_that_go_on(self, admin: Person, team: Team) -> None:
        member = join(team, Role.ADMIN)
        made = keys.create(team=team, name="made-by-them", scopes=["read"], act=ACT)
        type(made.key).objects.update(created_by=member.actor)
        keys.create(team=team, name="of-others", scopes=["read"], act=ACT)
        text = seen(admin.get(path(team, f"/{member.pk}/remove")))
        assert "made-by-them" in text
        assert "of-others" not in text
        assert team.memberships.filter(pk=member.pk).exists()

    def test_member_is_out(self, admin: Person, team: Team) -> None:
        member = join(team)
        page = admin.submit(path(team, f"/{member.pk}/remove"), follow=True)
        assert not team.memberships.filter(pk=member.pk).exists()
        assert "belongs to the team no more" in seen(page)
        assert entries(team) == [(admin.member.actor, "member_removed", member.actor)]

    def test_admin_removes_no_owner(self, admin: Person, owner: Person, team: Team) -> None:
        address = path(team, f"/{owner.member.pk}/remove")
        assert admin.get(address).status_code == 403
        assert admin.fill(admin.get(path(team)), address).status_code == 403
        assert team.memberships.filter(pk=owner.member.pk).exists()

    def test_others_remove_nobody(self, member: Person, viewer: Person, team: Team) -> None:
        address = path(team, f"/{viewer.member.pk}/remove")
        assert member.get(address).status_code == 403
        assert member.fill(member.get(path(team, f"/{member.member.pk}/remove")), address).status_code == 403
        assert team.memberships.filter(pk=viewer.member.pk).exists()

    def test_member_of_another_team_is_not_found(self, owner: Person, team: Team) -> None:
        stranger = join(found_team())
        assert owner.get(path(team, f"/{stranger.pk}/remove")).status_code == 404


class TestLeaving:
    def test_everybody_may(self, viewer: Person, team: Team) -> None:
        page = viewer.submit(path(team, f"/{viewer.member.pk}/remove"), follow=True)
        assert page.redirect_chain == [("/accounts/", 302)]
        assert f"You have left {team.slug}" in text_of(page)
        assert viewer.get(path(team)).status_code == 404
        assert entries(team) == [(viewer.member.actor, "member_left", viewer.member.actor)]

    def test_last_owner_may_not(self, owner: Person, team: Team) -> None:
        page = owner.submit(path(team, f"/{owner.member.pk}/remove"), follow=True)
        assert "at least one owner" in seen(page)
        assert team.memberships.count() == 1

    def test_owner_may_once_there_is_another(self, owner: Person, team: Team) -> None:
        join(team, Role.OWNER)
        owner.submit(path(team, f"/{owner.member.pk}/remove"))
        assert team.memberships.count() == 1
