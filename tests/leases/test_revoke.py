"""Revoke: an operator ends exactly one live term, by its number."""

from __future__ import annotations

import pytest

from octostore.leases import engine
from octostore.leases.models import Ending, Lease
from octostore.leases.outcomes import Delayed, Held, Revoked, Vacant
from tests.leases.acts import MINUTE, NAME, SPACE, acquire, grant, inspect, recorded, release, story
from tests.leases.moving_time import age, expire
from tests.leases.threads import together

pytestmark = pytest.mark.usefixtures("database")


def revoke(term: int, **more: object) -> Revoked | Held | Delayed | Vacant:
    return engine.revoke(SPACE, NAME, term=term, **{"reason": "stuck", "actor": "ada", **more})  # type: ignore[arg-type]


class TestALiveTerm:
    def test_ends_now(self) -> None:
        granted = grant()
        outcome = revoke(granted.hold.term)
        assert isinstance(outcome, Revoked)
        assert (outcome.hold.term, outcome.hold.ending) == (granted.hold.term, Ending.REVOKED)
        assert isinstance(inspect(), Vacant)

    def test_is_recorded_with_reason_and_actor(self) -> None:
        revoke(grant().hold.term, reason="it hangs; 'quoted' \u00fc", actor="ada")
        _, event = recorded()
        assert (event.n, event.kind, event.reason, event.actor) == (2, "revoked", "it hangs; 'quoted' \u00fc", "ada")

    def test_frees_the_name_at_once(self) -> None:
        granted = grant()
        revoke(granted.hold.term)
        assert grant(holder="borea").hold.term > granted.hold.term

    def test_delays_the_next_where_asked_for(self) -> None:
        revoke(grant(delay=MINUTE).hold.term, delay=2 * MINUTE)
        outcome = acquire()
        assert isinstance(outcome, Delayed)
        assert MINUTE < outcome.remaining <= 2 * MINUTE
        age(2 * MINUTE)
        grant(holder="borea")

    def test_does_not_delay_by_the_terms_own_delay(self) -> None:
        revoke(grant(delay=MINUTE).hold.term)
        grant(holder="borea")

    def test_leaves_a_vacant_name_also_when_the_clock_steps_back(self) -> None:
        revoke(grant().hold.term)
        age(-MINUTE)
        assert isinstance(inspect(), Vacant)
        grant(holder="borea")


class TestAnyOtherTerm:
    def test_is_told_what_is_there_instead(self) -> None:
        first = grant()
        release(first)
        assert isinstance(revoke(first.hold.term), Vacant)
        second = grant(holder="borea")
        outcome = revoke(first.hold.term)
        assert isinstance(outcome, Held)
        assert outcome.hold.term == second.hold.term

    def test_is_not_ended_twice(self) -> None:
        term = grant().hold.term
        outcomes = together(10, lambda _: revoke(term))
        assert sum(isinstance(outcome, Revoked) for outcome in outcomes) == 1
        assert story() == [(1, "acquired"), (2, "revoked")]

    def test_is_not_ended_after_its_deadline(self) -> None:
        term = grant().hold.term
        expire()
        assert isinstance(revoke(term), Vacant)
        assert story() == [(1, "acquired")]

    @pytest.mark.parametrize("number", [0, -1, 1, 2**53, 2**63 - 1, 2**63, -(2**63) - 1, 10**30])
    def test_of_any_number_changes_nothing(self, number: int) -> None:
        grant()
        before = Lease.objects.values().get()
        assert isinstance(revoke(number), Held)
        assert Lease.objects.values().get() == before

    def test_of_a_name_nobody_held_is_vacant(self) -> None:
        outcome = revoke(1)
        assert isinstance(outcome, Vacant)
        assert outcome.last is None
        assert not Lease.objects.exists()
