"""A new key in the place of an old one, which may go on for a while."""

from __future__ import annotations

from datetime import timedelta

import pytest
from django.utils import timezone

from octostore.lib.errors import AuthenticationFailed, Forbidden, NotFound
from octostore.teams import keys, services
from octostore.teams.models import ApiKey, AuditEntry, Membership, Role, Team
from tests.teams.cast import ACT, entries, found_team, join

HOUR = timedelta(hours=1)


@pytest.fixture
def old(team: Team) -> keys.Issued:
    return keys.create(
        team=team, name="ci", scopes=["read", "locks"], prefix="repo/", expires_at=keys.lasting(90 * 24 * HOUR), act=ACT
    )


def replace(old: keys.Issued, ends_in: timedelta) -> keys.Issued:
    return keys.replace(team_id=old.key.team_id, visible=old.key.visible, ends_in=ends_in, act=ACT)


def stored(issued: keys.Issued) -> ApiKey:
    return ApiKey.objects.get(pk=issued.key.pk)


def is_over(issued: keys.Issued) -> bool:
    try:
        keys.find(issued.text)
    except AuthenticationFailed:
        return True
    return False


class TestReplaced:
    def test_new_key_has_the_settings_of_the_old_one(self, old: keys.Issued) -> None:
        new = replace(old, HOUR)
        assert new.key.visible != old.key.visible
        principal, before = keys.find(new.text), keys.find(old.text)
        assert (principal.team_id, principal.key_name, principal.scopes, principal.prefix) == (
            before.team_id,
            before.key_name,
            before.scopes,
            before.prefix,
        )

    def test_new_key_lasts_as_long_as_the_old_one_was_made_for(self, old: keys.Issued) -> None:
        ApiKey.objects.filter(pk=old.key.pk).update(
            created_at=old.key.created_at - 80 * 24 * HOUR, expires_at=old.key.created_at + 10 * 24 * HOUR
        )
        left = replace(old, HOUR).key.expires_at - timezone.now()  # type: ignore[operator]
        assert abs(left - 90 * 24 * HOUR) < timedelta(minutes=1)

    def test_key_without_an_end_is_followed_by_one_without(self, team: Team) -> None:
        old = keys.create(team=team, name="ci", scopes=["read"], act=ACT)
        assert replace(old, HOUR).key.expires_at is None
        assert stored(old).expires_at is not None

    def test_old_key_works_until_its_end(self, old: keys.Issued) -> None:
        replace(old, HOUR)
        assert not is_over(old)
        expires_at = stored(old).expires_at
        assert expires_at is not None
        assert abs(expires_at - timezone.now() - HOUR) < timedelta(minutes=1)

    def test_old_key_never_lasts_longer_than_it_would_have(self, old: keys.Issued) -> None:
        replace(old, 365 * 24 * HOUR)
        assert stored(old).expires_at == stored(old).created_at + (old.key.expires_at - old.key.created_at)  # type: ignore[operator]

    def test_old_key_ends_at_once_where_nothing_is_left_to_it(self, old: keys.Issued) -> None:
        new = replace(old, timedelta(0))
        assert is_over(old)
        assert not is_over(new)

    def test_both_sides_are_audited_without_a_secret(self, team: Team, old: keys.Issued) -> None:
        new = replace(old, HOUR)
        assert entries(team)[1:] == [
            ("system", "key_created", f"key:{new.key.visible}"),
            ("system", "key_replaced", f"key:{old.key.visible}"),
        ]
        after = AuditEntry.objects.get(action="key_replaced").after
        assert after is not None
        assert after["replaced_by"] == new.key.visible
        assert new.text[17:] not in repr(list(AuditEntry.objects.values()))


class TestRefused:
    @pytest.mark.parametrize("instant", ["revoked_at", "expires_at"])
    def test_key_that_is_over_is_not_found(self, old: keys.Issued, instant: str) -> None:
        ApiKey.objects.filter(pk=old.key.pk).update(**{instant: timezone.now()})
        with pytest.raises(NotFound):
            replace(old, HOUR)
        assert ApiKey.objects.count() == 1

    def test_another_teams_key_is_not_found(self, old: keys.Issued) -> None:
        with pytest.raises(NotFound):
            keys.replace(team_id=found_team().id, visible=old.key.visible, ends_in=HOUR, act=ACT)
        assert stored(old).expires_at == old.key.expires_at

    @pytest.mark.parametrize("role", [Role.MEMBER, Role.VIEWER])
    def test_others_than_admins_may_not(self, team: Team, old: keys.Issued, role: Role) -> None:
        with pytest.raises(Forbidden):
            services.replace_key(by=join(team, role), visible=old.key.visible, ends_in=HOUR)
        assert ApiKey.objects.count() == 1

    def test_admin_may_and_is_named(self, team: Team, admin: Membership, old: keys.Issued) -> None:
        services.replace_key(by=admin, visible=old.key.visible, ends_in=HOUR, request_id="req_1")
        assert {entry.actor for entry in AuditEntry.objects.filter(request_id="req_1")} == {admin.actor}
