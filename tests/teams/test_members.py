"""Teams and who belongs to them."""

from __future__ import annotations

import pytest

from octostore.lib.errors import Conflict, Forbidden, InvalidInput, NotFound
from octostore.teams import services
from octostore.teams.models import AuditEntry, Membership, Role, Team
from tests.leases.threads import together
from tests.teams.cast import ACT, entries, found_team, join, person


@pytest.mark.usefixtures("database")
class TestFounding:
    def test_owner_belongs_to_the_new_team(self) -> None:
        owner = person()
        team = services.create_team(slug="acme", owner=owner, act=ACT)
        assert team.memberships.get().role == Role.OWNER
        assert [action for _, action, _ in entries(team)] == ["team_created", "member_added"]

    def test_public_id_tells_nothing_of_the_team(self) -> None:
        one, other = (services.create_team(slug=slug, owner=None, act=ACT) for slug in ("acme", "globex"))
        assert one.uuid != other.uuid
        assert one.uuid.version == 4

    def test_taken_slug_is_a_conflict_and_leaves_nothing(self) -> None:
        services.create_team(slug="acme", owner=None, act=ACT)
        with pytest.raises(Conflict):
            services.create_team(slug="acme", owner=person(), act=ACT)
        assert Team.objects.count() == AuditEntry.objects.count() == 1

    @pytest.mark.parametrize("slug", ["", "A", "a_b", "-a", "a-", "a" * 41, "a b", "ä", "a\n", "a/b"])
    def test_bad_slug_is_refused(self, slug: str) -> None:
        with pytest.raises(InvalidInput):
            services.create_team(slug=slug, owner=None, act=ACT)

    def test_team_of_others_is_not_found_like_none(self) -> None:
        user, team = person(), found_team()
        for slug in (team.slug, "no-such-team"):
            with pytest.raises(NotFound) as refused:
                services.membership_of(slug=slug, user=user)
            assert refused.value.details is None


class TestRoles:
    def test_change_is_audited_with_before_and_after(self, team: Team, owner: Membership) -> None:
        member = join(team)
        services.change_role(by=owner, member=member, role=Role.ADMIN, request_id="req_1")
        member.refresh_from_db()
        assert member.role == Role.ADMIN
        entry = AuditEntry.objects.get()
        assert (entry.action, entry.before, entry.after, entry.request_id) == (
            "role_changed",
            {"role": "member"},
            {"role": "admin"},
            "req_1",
        )

    def test_the_same_role_again_changes_nothing(self, team: Team, owner: Membership) -> None:
        services.change_role(by=owner, member=join(team, Role.VIEWER), role=Role.VIEWER)
        assert entries(team) == []

    def test_unknown_role_is_refused(self, team: Team, owner: Membership) -> None:
        with pytest.raises(InvalidInput):
            services.change_role(by=owner, member=join(team), role="god")

    def test_member_of_another_team_is_not_found(self, team: Team, owner: Membership) -> None:
        stranger = join(found_team())
        with pytest.raises(NotFound):
            services.change_role(by=owner, member=stranger, role=Role.VIEWER)
        with pytest.raises(NotFound):
            services.remove_member(by=owner, member=stranger)

    def test_role_that_was_lost_meanwhile_does_not_count(self, team: Team, admin: Membership) -> None:
        Membership.objects.filter(pk=admin.pk).update(role=Role.VIEWER)
        with pytest.raises(Forbidden):
            services.remove_member(by=admin, member=join(team))


class TestLastOwner:
    def test_cannot_leave(self, team: Team, owner: Membership) -> None:
        with pytest.raises(Conflict):
            services.remove_member(by=owner, member=owner)
        assert team.memberships.count() == 1

    def test_cannot_become_less(self, team: Team, owner: Membership) -> None:
        with pytest.raises(Conflict):
            services.change_role(by=owner, member=owner, role=Role.ADMIN)

    def test_may_leave_once_there_is_another(self, team: Team, owner: Membership) -> None:
        join(team, Role.OWNER)
        services.remove_member(by=owner, member=owner)
        assert [action for _, action, _ in entries(team)] == ["member_left"]

    def test_two_owners_that_leave_at_once_leave_one(self, team: Team) -> None:
        for _ in range(5):
            Membership.objects.filter(team=team).delete()
            owners = [join(team, Role.OWNER), join(team, Role.OWNER)]

            def leave(number: int, owners: list[Membership] = owners) -> bool:
                try:
                    services.remove_member(by=owners[number], member=owners[number])
                except Conflict:
                    return False
                return True

            assert sorted(together(2, leave)) == [False, True]
            assert team.memberships.filter(role=Role.OWNER).count() == 1


class TestLeaving:
    def test_everybody_may_leave(self, team: Team, viewer: Membership) -> None:
        services.remove_member(by=viewer, member=viewer)
        assert team.memberships.count() == 0
        assert entries(team) == [(f"user:{viewer.user.email}", "member_left", f"user:{viewer.user.email}")]

    def test_removed_twice_is_not_found(self, team: Team, owner: Membership) -> None:
        member = join(team)
        services.remove_member(by=owner, member=member)
        with pytest.raises(NotFound):
            services.remove_member(by=owner, member=member)
        assert [action for _, action, _ in entries(team)] == ["member_removed"]
