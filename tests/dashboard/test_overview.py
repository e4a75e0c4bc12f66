"""A team at a glance: what is held, what needs somebody, what happened last, what to do first."""

from __future__ import annotations

import re
from datetime import timedelta
from typing import Any

from django.utils import timezone
from pytest_django import DjangoAssertNumQueries

from octostore.teams import invitations, keys, limits
from octostore.teams.models import Quota, Role, Team
from tests.dashboard.cast import Person, endpoint, seen, text_of
from tests.locks.cast import Worker, age, expire, found_team, issue
from tests.teams.cast import ACT, join


def path(team: Team) -> str:
    return f"/t/{team.slug}"


def tiles(page: Any) -> dict[str, str]:
    found = re.findall(r'class="tile"[^>]*><span>([^<]+)</span><strong>([^<]+)</strong>', text_of(page))
    return dict(found)


def part(page: Any, name: str) -> str:
    """What the section of this name says."""
    section = text_of(page).partition(f'aria-labelledby="{name}"')[2].partition("</section>")[0].partition(">")[2]
    return re.sub(r"\s+", " ", re.sub(r"<[^>]+>", " ", section)).strip()


class TestTiles:
    def test_count_what_is_held_and_what_expires(self, viewer: Person, team: Team, worker: Worker) -> None:
        for name in ("a", "b", "c"):
            worker.hold(name, ttl_seconds=60)
        age("a", 45)
        expire("c")
        expected = {"Locks held": "2", "Expiring": "1", "Failing webhooks": "0", "Fullest limit": "2 %"}
        assert tiles(viewer.get(path(team))) == expected

    def test_other_teams_are_not_counted(self, viewer: Person, team: Team) -> None:
        with Worker(issue(found_team())) as other:
            other.hold("theirs")
        page = viewer.get(path(team))
        assert tiles(page)["Locks held"] == "0"
        assert "theirs" not in text_of(page)


class TestAttention:
    def test_nothing_is_said_where_all_is_calm(self, viewer: Person, team: Team, worker: Worker) -> None:
        worker.hold("a")
        page = viewer.get(path(team))
        assert part(page, "attention") == "Needs attention Nothing now."
        assert "<title>All calm" in text_of(page)

    def test_flapping_lock_is_named(self, viewer: Person, team: Team, worker: Worker) -> None:
        for _ in range(4):
            worker.release("a/b", worker.hold("a/b")["lease_id"])
        page = viewer.get(path(team))
        assert "a/b changes hands too often" in part(page, "attention")
        assert "<title>Needs attention" in text_of(page)

    def test_key_that_expires_soon_is_named(self, viewer: Person, team: Team) -> None:
        soon = timezone.now() + timedelta(days=2, hours=1)
        keys.create(team=team, name="soon", scopes=["read"], expires_at=soon, act=ACT)
        keys.create(team=team, name="later", scopes=["read"], expires_at=soon + timedelta(days=30), act=ACT)
        text = part(viewer.get(path(team)), "attention")
        assert "soon" in text
        assert "later" not in text

    def test_webhook_that_fails_or_was_switched_off_for_it_is_named(self, viewer: Person, team: Team) -> None:
        now = timezone.now()
        endpoint(team, url="https://fails.example.com/", failing_since=now - timedelta(minutes=3))
        endpoint(team, url="https://gone.example.com/", off="gone", off_at=now)
        endpoint(team, url="https://asked.example.com/", off="asked", off_at=now)
        endpoint(team, url="https://fine.example.com/")
        page = viewer.get(path(team))
        text = part(page, "attention")
        assert "fails.example.com fails, for the first time 3 min ago" in text
        assert "gone.example.com was switched off: it answered 410 Gone" in text
        assert "asked" not in text
        assert "fine" not in text
        assert tiles(page)["Failing webhooks"] == "2"

    def test_limit_that_is_nearly_full_is_named(self, viewer: Person, team: Team, worker: Worker) -> None:
        Quota.objects.create(team=team, locks=2)
        limits.forget(team.id)
        for name in ("a", "b"):
            worker.hold(name)
        assert "Locks held : 2 of 2" in part(viewer.get(path(team)), "attention")

    def test_open_invitation_is_named(self, viewer: Person, owner: Person, team: Team) -> None:
        invited = invitations.invite(by=owner.member, email="ann@example.org", role=Role.VIEWER)
        page = viewer.get(path(team))
        assert "ann@example.org" in part(page, "attention")
        assert invited.text not in text_of(page)


class TestEvents:
    def test_are_the_last_ones_of_the_teams_locks(self, viewer: Person, team: Team, worker: Worker) -> None:
        worker.release("a", worker.hold("a", holder="one")["lease_id"])
        worker.hold("b", holder="two")
        text = part(viewer.get(path(team)), "events")
        said = [text.find(words) for words in ("b acquired by two", "a released by one", "a acquired by one")]
        assert -1 not in said
        assert said == sorted(said)

    def test_at_most_twenty_are_told(self, viewer: Person, team: Team, worker: Worker) -> None:
        for number in range(11):
            worker.release(f"lock-{number}", worker.hold(f"lock-{number}")["lease_id"])
        page = viewer.get(path(team))
        assert text_of(page).partition('class="timeline"')[2].partition("</ol>")[0].count("<li>") == 20
        assert "lock-0 " not in part(page, "events")

    def test_end_of_an_old_term_comes_before_newer_beginnings(self, viewer: Person, team: Team, worker: Worker) -> None:
        old = worker.hold("old", ttl_seconds=3600)
        for number in range(21):
            worker.hold(f"lock-{number}")
        worker.release("old", old["lease_id"])
        assert "old released" in part(viewer.get(path(team)), "events")


class TestFirstSteps:
    def test_tick_themselves_off(self, owner: Person, team: Team) -> None:
        def done() -> list[bool]:
            page = text_of(owner.get(path(team))).partition('class="steps"')[2].partition("</ol>")[0]
            return ["done" in step for step in page.split("<li")[1:]]

        assert done() == [False, False, False, False]
        key = issue(team)
        assert done() == [True, False, False, False]
        with Worker(key) as worker:
            worker.hold("first")
        assert done() == [True, True, False, False]
        endpoint(team)
        assert done() == [True, True, True, False]
        join(team)
        assert done() == []

    def test_carry_the_host_and_no_secret(self, owner: Person, team: Team) -> None:
        text = seen(owner.get(path(team)))
        assert "http://testserver/locks/first/acquire" in text
        assert "$OCTOSTORE_KEY" in text


def test_costs_the_same_however_much_there_is(
    database: str, viewer: Person, team: Team, worker: Worker, django_assert_num_queries: DjangoAssertNumQueries
) -> None:
    for number in range(20):
        worker.hold(f"lock-{number}")
    for _ in range(3):
        endpoint(team, failing_since=timezone.now())
    for _ in range(10):
        worker.release("flaps", worker.hold("flaps")["lease_id"])
    viewer.get(path(team))  # takes the greeting, reads limits
    # Session, user, membership; clock, counts, names and events, keys, beginnings and names of what flaps,
    # invitations, three of usage (four on SQLite, which has its clock in a table), webhooks and counts, members.
    with django_assert_num_queries(18 if database == "sqlite" else 17):
        viewer.get(path(team))


def test_htmx_gets_the_state_alone(viewer: Person, team: Team) -> None:
    answer = text_of(viewer.part(path(team))).strip()
    assert answer.startswith("<title>All calm")
    assert '<div id="state"' in answer
    assert "<html" not in answer
