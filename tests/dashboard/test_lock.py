"""The page of one lock."""

from __future__ import annotations

from urllib.parse import quote

import pytest
from pytest_django import DjangoAssertNumQueries

from octostore.dashboard.queries import locks as queries
from octostore.teams.models import Team
from tests.dashboard.cast import Person, alike, rows, seen, text_of
from tests.locks.cast import Worker, age, expire, found_team, issue


def path(team: Team, name: str) -> str:
    return f"/t/{team.slug}/locks/{quote(name)}"


class TestState:
    def test_of_a_held_one(self, viewer: Person, team: Team, worker: Worker) -> None:
        won = worker.hold("repo/a", ttl_seconds=60, holder="worker-7", metadata="deploys main")
        page = viewer.get(path(team, "repo/a"))
        text = seen(page)
        for part in ("Held", "worker-7", str(won["fencing_token"]), "1 min", "deploys main", "ci", worker.visible):
            assert part in text
        assert worker.lock("repo/a")["holder_id"] in text
        assert "<title>worker-7 holds · repo/a" in text_of(page)

    def test_of_one_about_to_expire(self, viewer: Person, team: Team, worker: Worker) -> None:
        worker.hold("a", ttl_seconds=60)
        age("a", 45)
        assert "Expiring" in seen(viewer.get(path(team, "a")))

    def test_of_a_free_one_tells_no_holder(self, viewer: Person, team: Team, worker: Worker) -> None:
        won = worker.hold("a", metadata="deploys main")
        worker.release("a", won["lease_id"])
        text = seen(viewer.get(path(team, "a")))
        assert "Nobody holds it" in text
        assert "deploys main" not in text
        assert str(won["fencing_token"]) in text

    def test_of_a_delayed_one(self, viewer: Person, team: Team, worker: Worker) -> None:
        worker.hold("a", lock_delay_seconds=30)
        expire("a")
        assert "Nobody may acquire it yet" in seen(viewer.get(path(team, "a")))

    def test_of_one_with_an_acl(self, viewer: Person, team: Team, worker: Worker) -> None:
        worker.hold("a", acl={"acquire": ["user:ci"]})
        assert "user:ci" in seen(viewer.get(path(team, "a")))

    def test_of_an_ephemeral_one_names_the_session_by_its_pseudonym(
        self, viewer: Person, team: Team, worker: Worker
    ) -> None:
        session_id = worker.begin()
        worker.hold("a", session_id=session_id, ephemeral=True)
        page = text_of(viewer.get(path(team, "a")))
        assert "ends with it" in page
        assert session_id not in page

    @pytest.mark.parametrize("name", ["Straße._-ü/日本", "a/b/c/d", "x" * 64, "0"])
    def test_every_name_has_its_page(self, viewer: Person, team: Team, worker: Worker, name: str) -> None:
        worker.hold(name)
        page = viewer.get(path(team, name))
        assert page.status_code == 200
        assert name in text_of(page)

    def test_htmx_gets_the_state_alone(self, viewer: Person, team: Team, worker: Worker) -> None:
        worker.hold("a")
        part = text_of(viewer.part(path(team, "a"))).strip()
        assert part.startswith("<title>A worker holds · a · ")
        assert '<section id="state"' in part
        assert "<html" not in part


class TestHistory:
    def test_tells_each_term_and_how_it_ended(self, viewer: Person, team: Team, worker: Worker) -> None:
        first = worker.hold("a", holder="one")
        worker.release("a", first["lease_id"])
        worker.hold("a", holder="two")
        expire("a")
        with Worker(issue(team, "admin", name="ops")) as ops:
            third = ops.hold("a", holder="three")
            ops.revoke("a", third["fencing_token"], reason="it hangs")
            revoked_by = f"key:{ops.visible}"
        worker.hold("a", holder="four")
        told = rows(viewer.get(path(team, "a")))
        assert [row.split()[1] for row in told] == ["four", "three", "two", "one"]
        assert told[0].endswith("goes on")
        assert told[1].endswith(f"force-released by {revoked_by} : it hangs")
        assert told[2].endswith("expired")
        assert told[3].endswith("released")
        assert all("ci osk_" in row for row in (told[0], told[2], told[3]))

    def test_older_terms_are_on_pages_of_their_own(
        self, viewer: Person, team: Team, worker: Worker, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        monkeypatch.setattr(queries, "HISTORY", 2)
        for number in range(5):
            worker.release("a", worker.hold("a", holder=f"worker-{number}")["lease_id"])
        met, address = [], path(team, "a")
        while address:
            page = viewer.get(address)
            met += [row.split()[1] for row in rows(page)]
            _, found, rest = text_of(page).partition('rel="next" href="')
            address = path(team, "a") + rest.partition('"')[0] if found else ""
        assert met == [f"worker-{number}" for number in (4, 3, 2, 1, 0)]

    @pytest.mark.parametrize("before", ["", "x", "-1", "9" * 17, "\u0661"])
    def test_what_is_no_term_is_refused(self, viewer: Person, team: Team, worker: Worker, before: str) -> None:
        worker.hold("a")
        assert viewer.get(path(team, "a"), {"before": before}).status_code == 400

    def test_costs_the_same_however_long_it_is(
        self, viewer: Person, team: Team, worker: Worker, django_assert_num_queries: DjangoAssertNumQueries
    ) -> None:
        for _ in range(10):
            worker.release("a", worker.hold("a")["lease_id"])
        viewer.get(path(team, "a"))  # takes the greeting
        # Session, user, membership; clock, lock, its latest terms, row and events of its history, keys, acl.
        with django_assert_num_queries(10):
            viewer.get(path(team, "a"))


class TestSnippets:
    def test_name_host_and_lock_and_no_secret(self, viewer: Person, team: Team, worker: Worker) -> None:
        won = worker.hold("repo/a b".replace(" ", "-"))
        page = text_of(viewer.get(path(team, "repo/a-b")))
        assert "http://testserver/locks/repo%2Fa-b/acquire" in page
        assert "Bearer $OCTOSTORE_KEY" in page
        assert won["lease_id"] not in page


class TestNotThere:
    def test_never_held_and_another_teams_look_the_same(self, viewer: Person, team: Team) -> None:
        with Worker(issue(found_team())) as other:
            other.hold("theirs")
        never, theirs = alike(viewer.get(path(team, "never"))), alike(viewer.get(path(team, "theirs")))
        assert never[0] == 404
        assert never == theirs

    @pytest.mark.parametrize("name", ["a/", "/a", "a//b", "..", "a/../b", "a b", "a%00", "x" * 257, "%ED%A0%80", "a\n"])
    def test_what_is_no_name_is_not_found(self, viewer: Person, team: Team, name: str) -> None:
        assert viewer.get(f"/t/{team.slug}/locks/{name}").status_code == 404
