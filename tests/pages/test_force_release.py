"""Staff end a term: that very one, with a reason, and it is told everywhere."""

from __future__ import annotations

from datetime import timedelta
from typing import Any

import pytest

from octostore.leases import engine, history
from octostore.leases.models import Ending, Lease
from octostore.leases.outcomes import Delayed, Granted, Held, Vacant
from octostore.teams.models import AuditEntry, Team, User
from tests.pages.browser import Browser, errors_on, text_of
from tests.teams.cast import found_team

ROOMS = "elections"


@pytest.fixture
def inside(browser: Browser, staff: User) -> Browser:
    browser.sign_in(staff)
    return browser


def hold(space: str, name: str) -> Granted:
    outcome = engine.acquire(space, name, holder="atlas", ttl=timedelta(minutes=5))
    assert isinstance(outcome, Granted)
    return outcome


def page_of(name: str) -> str:
    return f"/staff/leases/lease/{Lease.objects.get(name=name).pk}/force-release/"


class TestRoom:
    def test_term_ends_and_history_and_audit_say_who_and_why(self, inside: Browser, staff: User) -> None:
        held = hold(ROOMS, "room-1234")
        answer = inside.submit(page_of("room-1234"), term=str(held.hold.term), reason="it hangs", delay_seconds="0")
        assert answer.status_code == 302
        assert isinstance(engine.inspect(ROOMS, "room-1234"), Vacant)
        (past,) = history.terms(ROOMS, "room-1234", limit=5)
        assert (past.ending, past.reason, past.actor) == (Ending.REVOKED, "it hangs", f"staff:{staff.email}")
        entry = AuditEntry.objects.get()
        assert (entry.team, entry.actor, entry.action, entry.object, entry.reason) == (
            None,
            f"staff:{staff.email}",
            "room_revoked",
            "room:room-1234",
            "it hangs",
        )
        assert entry.request_id == answer["X-Request-Id"]

    def test_term_that_began_meanwhile_is_left_alone(self, inside: Browser) -> None:
        first = hold(ROOMS, "room-1234")
        page = inside.get(page_of("room-1234"))
        engine.release(ROOMS, "room-1234", capability=first.capability)
        second = hold(ROOMS, "room-1234")
        answer = inside.fill(
            page, page_of("room-1234"), term=str(first.hold.term), reason="it hangs", delay_seconds="0"
        )
        assert answer.status_code == 409
        state = engine.inspect(ROOMS, "room-1234")
        assert isinstance(state, Held)
        assert state.hold.term == second.hold.term
        assert not AuditEntry.objects.exists()

    def test_room_gets_no_delay(self, inside: Browser) -> None:
        held = hold(ROOMS, "room-1234")
        assert "acquire it then" not in text_of(inside.get(page_of("room-1234")))
        inside.submit(page_of("room-1234"), term=str(held.hold.term), reason="it hangs", delay_seconds="30")
        assert isinstance(engine.inspect(ROOMS, "room-1234"), Vacant)

    def test_reason_is_asked_for(self, inside: Browser) -> None:
        held = hold(ROOMS, "room-1234")
        assert errors_on(inside.submit(page_of("room-1234"), term=str(held.hold.term), delay_seconds="0"))
        assert isinstance(engine.inspect(ROOMS, "room-1234"), Held)

    def test_looking_changes_nothing(self, inside: Browser) -> None:
        hold(ROOMS, "room-1234")
        lease = f"/staff/leases/lease/{Lease.objects.get().pk}/change/"
        assert page_of("room-1234") in text_of(inside.get(lease))
        assert inside.get(page_of("room-1234")).status_code == 200
        assert isinstance(engine.inspect(ROOMS, "room-1234"), Held)

    def test_term_that_is_over_is_told(self, inside: Browser) -> None:
        held = hold(ROOMS, "room-1234")
        engine.release(ROOMS, "room-1234", capability=held.capability)
        assert inside.get(page_of("room-1234")).status_code == 409


class TestLock:
    @pytest.fixture
    def team(self, database: str) -> Team:
        return found_team()

    def test_ends_with_a_delay_and_in_its_teams_audit(self, inside: Browser, team: Team) -> None:
        space = f"locks/{team.uuid}"
        held = hold(space, "repo/a")
        inside.submit(page_of("repo/a"), term=str(held.hold.term), reason="it hangs", delay_seconds="20")
        assert isinstance(engine.inspect(space, "repo/a"), Delayed)
        entry = AuditEntry.objects.get()
        assert (entry.team, entry.action, entry.object) == (team, "lock_revoked", "lock:repo/a")

    @pytest.mark.parametrize("delay", ["-1", "31", "x", ""])
    def test_impossible_delay_is_refused(self, inside: Browser, team: Team, delay: Any) -> None:
        held = hold(f"locks/{team.uuid}", "repo/a")
        assert errors_on(
            inside.submit(page_of("repo/a"), term=str(held.hold.term), reason="it hangs", delay_seconds=delay)
        )
        assert isinstance(engine.inspect(f"locks/{team.uuid}", "repo/a"), Held)


class TestWhoMay:
    def test_no_other_user(self, browser: Browser, user: User) -> None:
        held = hold(ROOMS, "room-1234")
        browser.sign_in(user)
        assert browser.get(page_of("room-1234"), follow=True).status_code == 403
        token = browser.get("/accounts/email/").context["csrf_token"]
        browser.post(
            page_of("room-1234"),
            {"term": held.hold.term, "reason": "x", "delay_seconds": 0, "csrfmiddlewaretoken": token},
        )
        assert isinstance(engine.inspect(ROOMS, "room-1234"), Held)
