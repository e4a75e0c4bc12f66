"""GET /usage"""

from __future__ import annotations

import pytest

from octostore.live.seats import seats, streams_of, waits_of
from octostore.teams import services
from octostore.teams.models import Team
from tests.elections.rooms import told
from tests.locks.cast import Worker, found_team, issue
from tests.teams.cast import ACT


def usage(key: str) -> dict[str, dict[str, int]]:
    with Worker(key) as worker:
        answer = worker.get("/usage")
    assert answer.status_code == 200
    body: dict[str, dict[str, int]] = answer.json()
    return body


class TestUsage:
    def test_a_new_team_uses_nothing_of_the_services_limits(self, team: Team) -> None:
        assert usage(issue(team, "read")) == {
            "locks": {"used": 0, "cap": 100},
            "sessions": {"used": 0, "cap": 1000},
            "streams": {"used": 0, "cap": 100},
            "waits": {"used": 0, "cap": 100},
        }

    def test_locks_and_sessions_count_while_they_live(self, team: Team) -> None:
        key = issue(team, "locks")
        with Worker(key) as worker:
            held = worker.hold("a")
            worker.hold("b")
            session = worker.begin()
            assert [usage(key)[name]["used"] for name in ("locks", "sessions")] == [2, 1]
            worker.release("a", held["lease_id"])
            worker.delete(f"/sessions/{session}")
            assert [usage(key)[name]["used"] for name in ("locks", "sessions")] == [1, 0]

    def test_streams_and_waits_count_while_they_are_open(self, team: Team) -> None:
        key = issue(team)
        give_back = [seats.take(streams_of(str(team.uuid)), at_most=9), seats.take(waits_of(str(team.uuid)), at_most=9)]
        try:
            assert [usage(key)[name]["used"] for name in ("streams", "waits")] == [1, 1]
        finally:
            for give in give_back:
                give()
        assert [usage(key)[name]["used"] for name in ("streams", "waits")] == [0, 0]

    def test_own_quota_is_the_cap(self, team: Team) -> None:
        services.set_quota(team=team, changes={"locks": 7}, act=ACT)
        assert usage(issue(team))["locks"]["cap"] == 7

    def test_other_teams_use_is_not_counted(self, team: Team) -> None:
        with Worker(issue(found_team())) as worker:
            worker.hold("a")
            worker.begin()
        assert {limit["used"] for limit in usage(issue(team)).values()} == {0}


class TestRefused:
    def test_no_key_is_401(self, database: str) -> None:
        with Worker(None) as worker:
            assert told(worker.get("/usage")) == (401, "authentication_required")

    @pytest.mark.parametrize("scope", ["webhooks"])
    def test_too_small_a_scope_is_403(self, team: Team, scope: str) -> None:
        with Worker(issue(team, scope)) as worker:
            assert told(worker.get("/usage")) == (403, "forbidden")
