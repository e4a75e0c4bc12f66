"""How much of its limits a team uses, as the API tells it."""

from __future__ import annotations

import re

from octostore.teams import limits
from octostore.teams.models import Quota, Team
from tests.dashboard.cast import Person, rows, text_of
from tests.locks.cast import Worker


def test_numbers_are_those_of_the_api(viewer: Person, team: Team, worker: Worker) -> None:
    Quota.objects.create(team=team, locks=7)
    limits.forget(team.id)
    worker.begin()
    for name in ("a", "b"):
        worker.hold(name)
    said = [re.findall(r"\d+", row)[:2] for row in rows(viewer.get(f"/t/{team.slug}/usage"))]
    told = worker.get("/usage").json()
    assert said == [[str(one["used"]), str(one["cap"])] for one in told.values()]
    assert said[0] == ["2", "7"]


def test_each_limit_says_what_happens_at_it(viewer: Person, team: Team) -> None:
    told = rows(viewer.get(f"/t/{team.slug}/usage"))
    assert "lock_limit_exceeded" in told[0]
    assert all("rate_limited" in row for row in told[1:])


def test_meters_stay_within_their_bounds(viewer: Person, team: Team, worker: Worker) -> None:
    worker.hold("a")
    Quota.objects.create(team=team, locks=0, sessions=0)
    limits.forget(team.id)
    page = viewer.get(f"/t/{team.slug}/usage")
    assert page.status_code == 200
    assert 'value="1.0000"' in text_of(page)


def test_htmx_gets_the_table_alone(viewer: Person, team: Team) -> None:
    assert text_of(viewer.part(f"/t/{team.slug}/usage")).strip().startswith('<section id="usage"')
