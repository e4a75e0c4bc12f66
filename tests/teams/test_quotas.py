"""How much a team may have, and that staff decide."""

from __future__ import annotations

import pytest
from pytest_django.fixtures import Settings

from octostore.lib.errors import InvalidInput
from octostore.teams import limits, services
from octostore.teams.limits import Limits
from octostore.teams.models import AuditEntry, Quota, Team
from tests.teams.cast import ACT, found_team


def test_a_team_has_the_services_limits(team: Team, settings: Settings) -> None:
    settings.TEAM_LOCKS_MAX, settings.TEAM_WAITS_MAX = 5, 6
    assert limits.of(team.id) == Limits(locks=5, sessions=1000, streams=100, waits=6)
    assert [limits.locks_max(team.id), limits.sessions_max(team.id)] == [5, 1000]
    assert [limits.streams_max(team.id), limits.waits_max(team.id)] == [100, 6]


def test_own_limits_go_before_the_services_and_zero_is_one(team: Team) -> None:
    services.set_quota(team=team, changes={"locks": 0, "waits": 9}, act=ACT)
    assert limits.of(team.id) == Limits(locks=0, sessions=1000, streams=100, waits=9)
    assert limits.of(found_team().id).locks == 100


def test_what_is_not_named_stays(team: Team) -> None:
    services.set_quota(team=team, changes={"locks": 7}, act=ACT)
    services.set_quota(team=team, changes={"waits": 8}, act=ACT)
    services.set_quota(team=team, changes={"locks": None}, act=ACT)
    assert limits.of(team.id) == Limits(locks=100, sessions=1000, streams=100, waits=8)


def test_change_is_audited_with_before_and_after(team: Team) -> None:
    services.set_quota(team=team, changes={"locks": 7}, act=ACT)
    services.set_quota(team=team, changes={"locks": 9}, act=ACT)
    entry = AuditEntry.objects.order_by("id")[1]
    assert (entry.action, entry.before, entry.after) == ("quota_changed", {"locks": 7}, {"locks": 9})


@pytest.mark.parametrize("changes", [{"locks": -1}, {"locks": 1_000_001}, {"webs": 1}])
def test_impossible_limits_are_refused(team: Team, changes: dict[str, int]) -> None:
    with pytest.raises(InvalidInput):
        services.set_quota(team=team, changes=changes, act=ACT)
    assert not Quota.objects.exists()


def test_limits_are_asked_for_once_a_second(team: Team, django_assert_num_queries: object) -> None:
    limits.forget(team.id)
    with django_assert_num_queries(1):  # type: ignore[operator]
        for _ in range(20):
            limits.of(team.id)


def test_what_another_process_changed_counts_within_a_second(team: Team, monkeypatch: pytest.MonkeyPatch) -> None:
    before = limits.of(team.id).locks
    Quota.objects.create(team=team, locks=before + 1)
    read_at, known = limits._known[team.id]
    monkeypatch.setitem(limits._known, team.id, (read_at - limits.FRESH_SECONDS, known))
    assert limits.of(team.id).locks == before + 1
