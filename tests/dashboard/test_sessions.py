"""Sessions on a page: known by a pseudonym, ended with a word about what goes with them."""

from __future__ import annotations

from typing import Any

import pytest
from pytest_django import DjangoAssertNumQueries

from octostore.dashboard.queries import sessions as queries
from octostore.leases.models import LeaseGroup
from octostore.teams.models import AuditEntry, Team
from tests.dashboard.cast import Person, alike, errors_in, rows, seen, text_of
from tests.locks.cast import Worker, age_session, expire_session, found_team, issue


def path(team: Team, session_id: str = "", rest: str = "") -> str:
    number = f"/{LeaseGroup.objects.get(key=session_id).pk}" if session_id else ""
    return f"/t/{team.slug}/sessions{number}{rest}"


@pytest.fixture
def session(worker: Worker) -> str:
    session_id = worker.begin(ttl_seconds=60)
    worker.hold("bound", session_id=session_id, ephemeral=True)
    worker.hold("own", session_id=session_id)
    return session_id


class TestListing:
    def test_says_what_may_be_known_of_one(self, viewer: Person, team: Team, worker: Worker, session: str) -> None:
        age_session(session, 20)
        [row] = rows(viewer.get(path(team)))
        pseudonym = worker.lock("own")["holder_id"]
        for part in (pseudonym, "Active", "ci", worker.visible, "2", "1 min", "20 s ago"):
            assert part in row

    def test_the_id_is_nowhere(self, viewer: Person, admin: Person, team: Team, session: str) -> None:
        for address in (path(team), path(team, session), path(team, session, "/terminate")):
            assert session not in text_of(admin.get(address))
        assert session not in text_of(viewer.part(path(team, session)))

    def test_active_and_ended_are_apart(self, viewer: Person, team: Team, worker: Worker, session: str) -> None:
        expired, deleted = worker.begin(), worker.begin()
        expire_session(expired)
        worker.delete(f"/sessions/{deleted}")
        assert len(rows(viewer.get(path(team)))) == 1
        told = rows(viewer.get(path(team), {"status": "ended"}))
        assert ["Released" in told[0], "Expired" in told[1]] == [True, True]

    @pytest.mark.parametrize("wrong", [{"status": "all"}, {"cursor": "x"}], ids=str)
    def test_what_is_no_list_is_refused(self, viewer: Person, team: Team, wrong: dict[str, str]) -> None:
        assert viewer.get(path(team), wrong).status_code == 400

    def test_page_by_page(self, viewer: Person, team: Team, worker: Worker, monkeypatch: pytest.MonkeyPatch) -> None:
        monkeypatch.setattr(queries, "PAGE", 2)
        for _ in range(3):
            worker.begin()
        first = viewer.get(path(team))
        link = text_of(first).partition('rel="next" href="')[2].partition('"')[0]
        second = viewer.get(path(team) + link)
        met = [row.split()[0] for page in (first, second) for row in rows(page)]
        assert len(set(met)) == len(met) == 3

    def test_sessions_of_other_teams_are_in_no_list(self, viewer: Person, team: Team) -> None:
        with Worker(issue(found_team())) as other:
            other.begin()
        assert rows(viewer.get(path(team))) == []
        assert "/sessions" in seen(viewer.get(path(team)))

    def test_many_cost_no_more_queries_than_one(
        self,
        viewer: Person,
        team: Team,
        worker: Worker,
        session: str,
        django_assert_num_queries: DjangoAssertNumQueries,
    ) -> None:
        for _ in range(10):
            worker.begin()
        viewer.get(path(team))  # takes the greeting
        # Session, user, membership; clock, sessions, what they hold, keys.
        with django_assert_num_queries(7):
            viewer.get(path(team))


class TestDetail:
    def test_tells_what_it_holds(self, viewer: Person, team: Team, session: str) -> None:
        text = seen(viewer.get(path(team, session)))
        assert "bound Held ends with the session" in text
        assert "own Held goes on without it" in text

    def test_of_one_that_ended_tells_how(self, viewer: Person, team: Team, worker: Worker, session: str) -> None:
        expire_session(session)
        text = seen(viewer.get(path(team, session)))
        assert "Expired" in text
        assert "no longer said that it lives" in text

    def test_looking_does_not_end_it(self, viewer: Person, team: Team, session: str) -> None:
        expire_session(session)
        viewer.get(path(team, session))
        assert LeaseGroup.objects.get(key=session).ended_at is None

    @pytest.mark.parametrize("number", ["0", "99999999", str(2**63), "x"])
    def test_no_other_number_is_there(self, owner: Person, team: Team, number: str) -> None:
        assert owner.get(f"/t/{team.slug}/sessions/{number}").status_code == 404

    def test_another_teams_looks_like_none(self, owner: Person, team: Team) -> None:
        with Worker(issue(found_team())) as other:
            theirs = other.begin()
        none = alike(owner.get(f"/t/{team.slug}/sessions/99999999"))
        assert alike(owner.get(path(team, theirs))) == none
        assert alike(owner.get(path(team, theirs, "/terminate"))) == none


class TestTerminating:
    def test_page_lists_what_goes_and_what_stays(self, admin: Person, team: Team, session: str) -> None:
        page = text_of(admin.get(path(team, session, "/terminate")))
        going = page.partition('id="going"')[2].partition("</ul>")[0]
        staying = page.partition('id="staying"')[2].partition("</ul>")[0]
        assert ("bound" in going, "own" in going) == (True, False)
        assert ("bound" in staying, "own" in staying) == (False, True)

    def test_ends_it_and_its_ephemeral_locks(self, admin: Person, team: Team, worker: Worker, session: str) -> None:
        answer = admin.submit(path(team, session, "/terminate"), reason="it hangs")
        assert answer["Location"] == path(team, session)
        assert worker.session(session)["active"] is False
        assert (worker.lock("bound")["status"], worker.lock("own")["status"]) == ("free", "held")
        entry = AuditEntry.objects.get(action="session_terminated")
        assert (entry.actor, entry.reason, entry.request_id) == (
            admin.member.actor,
            "it hangs",
            answer["X-Request-Id"],
        )
        assert session not in repr(list(AuditEntry.objects.values()))

    @pytest.mark.parametrize("reason", ["", "  ", "x" * 501])
    def test_reason_is_asked_for(self, admin: Person, team: Team, worker: Worker, session: str, reason: str) -> None:
        page = admin.submit(path(team, session, "/terminate"), reason=reason)
        assert page.status_code == 422
        assert errors_in(page)
        assert worker.session(session)["active"] is True

    def test_one_that_ended_meanwhile_is_told(self, admin: Person, team: Team, worker: Worker, session: str) -> None:
        form: Any = admin.get(path(team, session, "/terminate"))
        worker.delete(f"/sessions/{session}")
        answer = admin.fill(form, path(team, session, "/terminate"), follow=True, reason="it hangs")
        assert "nothing was changed" in seen(answer)
        assert not AuditEntry.objects.filter(action="session_terminated").exists()
