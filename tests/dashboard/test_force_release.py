"""Ending a lock's term on a member's word: that very term, with its name typed, a reason and plain words."""

from __future__ import annotations

from typing import Any

import pytest

from octostore.leases import engine
from octostore.leases.outcomes import Delayed, Held, Vacant
from octostore.teams.models import AuditEntry, Team
from tests.dashboard.cast import Person, errors_in, rows, seen, text_of
from tests.locks.cast import Worker, age

LOCK = "repo/issue-1842"


@pytest.fixture
def held(worker: Worker) -> dict[str, Any]:
    return worker.hold(LOCK, ttl_seconds=60, holder="worker-7")


def path(team: Team) -> str:
    return f"/t/{team.slug}/locks/{LOCK}/revoke"


def state(team: Team) -> Any:
    return engine.inspect(team.lock_space, LOCK)


class TestPage:
    def test_says_what_ends_and_that_the_holder_is_not_stopped(
        self, admin: Person, team: Team, held: dict[str, Any]
    ) -> None:
        text = seen(admin.get(path(team)))
        for part in (
            str(held["fencing_token"]),
            "worker-7",
            "ci",
            "The holder is not stopped by this",
            "fencing token",
        ):
            assert part in text
        assert isinstance(state(team), Held)

    def test_delay_is_what_is_left_up_to_what_may_be(self, admin: Person, team: Team, held: dict[str, Any]) -> None:
        assert 'name="delay_seconds" value="30"' in text_of(admin.get(path(team)))
        age(LOCK, 50)
        left = text_of(admin.get(path(team))).partition('name="delay_seconds" value="')[2].partition('"')[0]
        assert 0 < int(left) <= 10

    def test_of_a_free_lock_has_no_form(self, admin: Person, team: Team, worker: Worker, held: dict[str, Any]) -> None:
        worker.release(LOCK, held["lease_id"])
        page = admin.get(path(team))
        assert "nothing to end" in seen(page)
        assert "<form method" not in text_of(page).partition("<footer")[0]

    def test_is_offered_to_who_may(self, admin: Person, member: Person, team: Team, held: dict[str, Any]) -> None:
        detail = f"/t/{team.slug}/locks/{LOCK}"
        assert path(team) in text_of(admin.get(detail))
        assert path(team) not in text_of(member.get(detail))


class TestEnding:
    def test_term_ends_and_history_and_audit_say_who_and_why(
        self, admin: Person, team: Team, held: dict[str, Any]
    ) -> None:
        answer = admin.submit(path(team), again=LOCK, reason="it hangs", delay_seconds="0")
        assert answer["Location"] == f"/t/{team.slug}/locks/{LOCK}"
        assert isinstance(state(team), Vacant)
        entry = AuditEntry.objects.get(action="lock_revoked")
        assert (entry.team, entry.actor, entry.object, entry.reason, entry.request_id) == (
            team,
            admin.member.actor,
            f"lock:{LOCK}",
            "it hangs",
            answer["X-Request-Id"],
        )
        page = admin.get(answer["Location"])
        assert rows(page)[0].endswith(f"force-released by {admin.member.actor} : it hangs")
        assert f"Ended term {held['fencing_token']}" in seen(page)

    def test_nobody_acquires_it_for_the_delay(self, admin: Person, team: Team, held: dict[str, Any]) -> None:
        admin.submit(path(team), again=LOCK, reason="it hangs", delay_seconds="20")
        assert isinstance(state(team), Delayed)

    @pytest.mark.parametrize(
        ("wrong", "field"),
        [
            ({"again": ""}, "The lock's name"),
            ({"again": "repo/issue-1843"}, "The lock's name"),
            ({"again": f" {LOCK}"}, "The lock's name"),
            ({"again": LOCK.upper()}, "The lock's name"),
            ({"reason": ""}, "Reason"),
            ({"reason": "   "}, "Reason"),
            ({"reason": "x" * 501}, "Reason"),
            ({"delay_seconds": ""}, "Seconds"),
            ({"delay_seconds": "31"}, "Seconds"),
            ({"delay_seconds": "-1"}, "Seconds"),
            ({"delay_seconds": "soon"}, "Seconds"),
            ({"term": ""}, "Term"),
            ({"term": "0"}, "Term"),
            ({"term": str(2**53)}, "Term"),
        ],
        ids=str,
    )
    def test_what_is_missing_is_named_and_nothing_ends(
        self, admin: Person, team: Team, held: dict[str, Any], wrong: dict[str, str], field: str
    ) -> None:
        page = admin.submit(path(team), False, **{"again": LOCK, "reason": "kept it", "delay_seconds": "7"} | wrong)
        assert page.status_code == 422
        [complaint] = errors_in(page)
        assert complaint.startswith(field)
        assert ("kept it" in text_of(page)) == ("reason" not in wrong)
        assert isinstance(state(team), Held)
        assert not AuditEntry.objects.filter(action="lock_revoked").exists()


class TestTermThatIsOver:
    def test_is_told_with_both_and_the_new_one_is_left_alone(
        self, admin: Person, team: Team, worker: Worker, held: dict[str, Any]
    ) -> None:
        form = admin.get(path(team))
        worker.release(LOCK, held["lease_id"])
        second = worker.hold(LOCK, holder="worker-8")
        page = admin.fill(form, path(team), again=LOCK, reason="it hangs", delay_seconds="0")
        assert page.status_code == 409
        for part in (str(held["fencing_token"]), str(second["fencing_token"]), "worker-8", "it hangs"):
            assert part in seen(page)
        assert state(team).hold.term == second["fencing_token"]
        assert not AuditEntry.objects.filter(action="lock_revoked").exists()

    def test_reason_is_kept_for_another_look(
        self, admin: Person, team: Team, worker: Worker, held: dict[str, Any]
    ) -> None:
        form = admin.get(path(team))
        worker.release(LOCK, held["lease_id"])
        worker.hold(LOCK)
        page = text_of(admin.fill(form, path(team), again=LOCK, reason="it & that", delay_seconds="0"))
        link = page.partition(f'href="{path(team)}?')[2].partition('"')[0]
        assert 'value="it & that"' in text_of(admin.get(f"{path(team)}?{link}"))

    def test_nobody_holds_it_now(self, admin: Person, team: Team, worker: Worker, held: dict[str, Any]) -> None:
        form = admin.get(path(team))
        worker.release(LOCK, held["lease_id"])
        page = admin.fill(form, path(team), again=LOCK, reason="it hangs", delay_seconds="0")
        assert page.status_code == 409
        assert "Free" in seen(page)
