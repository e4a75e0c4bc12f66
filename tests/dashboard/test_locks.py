"""The list of a team's locks: what each row says, which are in it, and page by page."""

from __future__ import annotations

from typing import Any
from uuid import uuid4

import pytest
from pytest_django import DjangoAssertNumQueries

from octostore.dashboard.queries import leases
from octostore.dashboard.queries import locks as queries
from octostore.leases.models import Lease
from octostore.teams.models import Team
from tests.dashboard.cast import Person, rows, seen, text_of
from tests.locks.cast import Worker, age, expire, found_team, issue


def path(team: Team) -> str:
    return f"/t/{team.slug}/locks"


def named(page: Any) -> list[str]:
    """The names in the list, in its order."""
    return [row.split()[0] if "/ " not in row else "".join(row.split("/ ")[0:1]) for row in rows(page)]


@pytest.fixture
def every_kind(worker: Worker) -> dict[str, str]:
    """A lock of each status, by status."""
    names = {status: f"kind/{status}" for status in leases.STATUSES}
    worker.hold(names["held"], ttl_seconds=60)
    worker.hold(names["expiring"], ttl_seconds=60)
    age(names["expiring"], 45)
    worker.hold(names["delayed"], ttl_seconds=60, lock_delay_seconds=30)
    expire(names["delayed"])
    worker.hold(names["free"], ttl_seconds=60)
    expire(names["free"])
    return names


class TestRow:
    def test_says_who_holds_it_for_how_long_under_which_token(self, viewer: Person, team: Team, worker: Worker) -> None:
        won = worker.hold("repo/issue-1842", ttl_seconds=60, holder="worker-7", metadata="deploys main")
        [row] = rows(viewer.get(path(team)))
        for part in ("repo / issue-1842", "Held", "worker-7", str(won["fencing_token"]), "s", "deploys main"):
            assert part in row

    def test_metadata_is_cut_after_sixty_characters(self, viewer: Person, team: Team, worker: Worker) -> None:
        worker.hold("a", metadata="x" * 61)
        page = text_of(viewer.get(path(team)))
        assert "x" * 59 + "…" in page
        assert "x" * 60 not in page

    def test_parts_of_the_name_lead_to_what_begins_so(self, viewer: Person, team: Team, worker: Worker) -> None:
        worker.hold("a/b/c")
        page = text_of(viewer.get(path(team)))
        for prefix in ("a%2F", "a%2Fb%2F"):
            assert f'href="{path(team)}?prefix={prefix}"' in page
        assert f'href="{path(team)}/a/b/c"' in page

    def test_session_is_linked_and_its_id_is_not_told(self, viewer: Person, team: Team, worker: Worker) -> None:
        session_id = worker.begin()
        worker.hold("a", session_id=session_id)
        page = text_of(viewer.get(path(team)))
        assert f'href="/t/{team.slug}/sessions/' in page
        assert session_id not in page

    def test_flapping_stands_beside_the_status(self, viewer: Person, team: Team, worker: Worker) -> None:
        for _ in range(4):
            worker.release("a", worker.hold("a")["lease_id"])
        worker.hold("a")
        worker.hold("b")
        flapping, calm = rows(viewer.get(path(team)))
        assert "Held Flapping" in flapping
        assert "Flapping" not in calm

    def test_hostile_text_is_text(self, viewer: Person, team: Team, worker: Worker) -> None:
        worker.hold("a", metadata="<script>alert(1)</script> https://evil.example/ \u202e")
        Lease.objects.update(holder='"><img src=x>')
        page = viewer.get(path(team)).content.decode()
        assert "<script>alert" not in page
        assert "<img" not in page
        assert 'href="https://evil' not in page
        assert "<bdi>&lt;script&gt;" in page


class TestFilters:
    @pytest.mark.parametrize("status", leases.STATUSES)
    def test_status_finds_what_rows_show(
        self, viewer: Person, team: Team, every_kind: dict[str, str], status: str
    ) -> None:
        [row] = rows(viewer.get(path(team), {"status": status}))
        assert every_kind[status].partition("/")[2] in row
        assert status.capitalize() in row

    def test_statuses_part_all_names_among_them(self, owner: Person, team: Team, every_kind: dict[str, str]) -> None:
        """Each name has exactly one, at whatever instant it is looked at."""
        names = set(every_kind.values())
        [began] = Lease.objects.filter(name="kind/held").values_list("began_at", flat=True)
        for at in range(began - 100_000, began + 100_000, 1_009):
            found = [
                {
                    line.name: line.status
                    for line in leases.lines(Lease.objects.filter(leases.of_status(status, at)), team.lock_space, at)
                }
                for status in leases.STATUSES
            ]
            assert sorted(name for part in found for name in part) == sorted(names), at
            for status, part in zip(leases.STATUSES, found, strict=True):
                assert set(part.values()) <= {status}, at

    def test_what_is_free_is_left_out_unless_asked_for(
        self, viewer: Person, team: Team, every_kind: dict[str, str]
    ) -> None:
        assert len(rows(viewer.get(path(team)))) == 3
        assert len(rows(viewer.get(path(team), {"status": "all"}))) == 4

    @pytest.mark.parametrize(
        ("prefix", "found"), [("re", 3), ("repo/", 2), ("repo/a", 1), ("%", 0), ("_", 0), ("REPO/", 0), ("", 4)]
    )
    def test_prefix_is_taken_as_it_is(
        self, viewer: Person, team: Team, worker: Worker, prefix: str, found: int
    ) -> None:
        for name in ("repo/a", "repo/b", "repa", "other"):
            worker.hold(name)
        page = viewer.get(path(team), {"prefix": prefix})
        assert len(rows(page)) == found
        assert f'value="{prefix}"' in text_of(page)

    @pytest.mark.parametrize(("holder", "found"), [("worker-1", 1), ("worker", 2), ("Worker", 2), ("%", 0), ("7", 0)])
    def test_holder_is_found_by_a_part_of_its_label(
        self, viewer: Person, team: Team, worker: Worker, holder: str, found: int
    ) -> None:
        for number in (1, 2):
            worker.hold(f"lock-{number}", holder=f"worker-{number}")
        assert len(rows(viewer.get(path(team), {"holder": holder}))) == found

    @pytest.mark.parametrize(
        "wrong",
        [{"status": "stolen"}, {"prefix": "x" * 257}, {"holder": "x" * 65}, {"prefix": "\0"}, {"cursor": "x"}],
        ids=str,
    )
    def test_what_is_no_filter_is_refused(self, viewer: Person, team: Team, wrong: dict[str, str]) -> None:
        assert viewer.get(path(team), wrong).status_code == 400


class TestPages:
    def test_every_lock_is_met_once(
        self, viewer: Person, team: Team, worker: Worker, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        monkeypatch.setattr(queries, "PAGE", 2)
        names = sorted(f"lock-{uuid4().hex}" for _ in range(5))
        for name in names:
            worker.hold(name)
        met, address = [], path(team)
        while address:
            page = viewer.get(address)
            met += [row.split()[0] for row in rows(page)]
            _, found, rest = text_of(page).partition('rel="next" href="')
            address = path(team) + rest.partition('"')[0] if found else ""
        assert met == names

    def test_cursor_of_another_list_or_team_is_refused(
        self, viewer: Person, outsider: Person, team: Team, worker: Worker, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        monkeypatch.setattr(queries, "PAGE", 1)
        for name in ("a", "b"):
            worker.hold(name)
        cursor = text_of(viewer.get(path(team))).partition("?cursor=")[2].partition('"')[0]
        assert viewer.get(path(team), {"cursor": cursor}).status_code == 200
        assert viewer.get(path(team), {"cursor": cursor, "status": "all"}).status_code == 400
        assert outsider.get(path(outsider.member.team), {"cursor": cursor}).status_code == 400

    def test_an_empty_list_says_how_to_fill_it(self, viewer: Person, team: Team) -> None:
        assert "$OCTOSTORE_KEY" in seen(viewer.get(path(team)))
        assert "http://testserver/locks/" in seen(viewer.get(path(team)))

    def test_locks_of_other_teams_are_in_no_list(self, viewer: Person, team: Team) -> None:
        with Worker(issue(found_team())) as other:
            other.hold("theirs")
        assert "theirs" not in text_of(viewer.get(path(team), {"status": "all"}))

    def test_htmx_gets_the_list_alone(self, viewer: Person, team: Team, worker: Worker) -> None:
        worker.hold("a")
        part = text_of(viewer.part(path(team), prefix="a")).strip()
        assert part.startswith("<section")
        assert "<html" not in part
        assert part in text_of(viewer.get(path(team), {"prefix": "a"})) or rows(viewer.part(path(team)))

    def test_many_cost_no_more_queries_than_one(
        self, viewer: Person, team: Team, worker: Worker, django_assert_num_queries: DjangoAssertNumQueries
    ) -> None:
        session_id = worker.begin()
        for number in range(20):
            worker.hold(f"lock-{number}", session_id=session_id)
        viewer.get(path(team))  # takes the greeting
        # Session, user, membership; clock, locks, their latest terms.
        with django_assert_num_queries(6):
            viewer.get(path(team))
