"""Inspect and count: what the row says at this instant, whatever any sweeper did."""

from __future__ import annotations

import pytest

from octostore.leases import engine
from octostore.leases.models import Ending, Lease
from octostore.leases.outcomes import Delayed, Held, Vacant
from tests.leases.acts import MINUTE, SPACE, grant, inspect, release, renew, row, story
from tests.leases.moving_time import age, expire

pytestmark = pytest.mark.usefixtures("database")


class TestAName:
    def test_nobody_ever_held_is_vacant_and_leaves_no_row(self) -> None:
        outcome = inspect("never")
        assert isinstance(outcome, Vacant)
        assert outcome.last is None
        assert str(outcome.revision) == "0-0"
        assert not Lease.objects.exists()

    def test_that_is_held_tells_its_holder_and_its_revision(self) -> None:
        granted = grant(metadata="m")
        outcome = inspect()
        assert isinstance(outcome, Held)
        assert outcome.hold == granted.hold
        assert str(outcome.revision) == f"{granted.hold.term}-1"

    def test_that_is_held_shows_its_renewals(self) -> None:
        granted = grant()
        renewed = renew(granted, ttl=2 * MINUTE)
        outcome = inspect()
        assert isinstance(outcome, Held)
        assert outcome.hold == renewed.hold

    def test_reads_as_vacant_from_its_deadline_on(self) -> None:
        granted = grant()
        expire()
        outcome = inspect()
        assert isinstance(outcome, Vacant)
        assert outcome.last is not None
        assert (outcome.last.term, outcome.last.ending) == (granted.hold.term, Ending.EXPIRED)
        assert outcome.last.ended_at == row().expires_at

    def test_counts_an_end_only_once_it_is_marked(self) -> None:
        granted = grant()
        expire()
        assert str(inspect().revision) == f"{granted.hold.term}-1"
        assert story() == [(1, "acquired")]
        engine.settle(SPACE, row().name)
        assert str(inspect().revision) == f"{granted.hold.term}-2"

    def test_keeps_its_incarnation_over_terms(self) -> None:
        first = grant()
        release(first)
        grant()
        assert str(inspect().revision) == f"{first.hold.term}-3"

    def test_is_delayed_after_an_expiry_with_a_delay(self) -> None:
        granted = grant(delay=MINUTE)
        expire()
        outcome = inspect()
        assert isinstance(outcome, Delayed)
        assert outcome.last.term == granted.hold.term
        assert outcome.available_at == row().expires_at + 60_000


class TestRemaining:
    @pytest.mark.parametrize("passed", [0, 1, 30_000, 59_000, 59_999, 60_000, 60_001, 10**9])
    def test_is_never_negative_nor_above_the_ttl(self, passed: int) -> None:
        grant()
        age(MINUTE * passed / 60_000)
        outcome = inspect()
        if isinstance(outcome, Held):
            assert 0 < outcome.remaining / MINUTE <= 1
        else:
            assert passed >= 59_000


class TestCounting:
    def test_counts_live_names_of_a_space_for_whom_they_are_charged_to(self) -> None:
        grant("a", charged_to="x")
        grant("b", charged_to="x")
        grant("c", charged_to="y")
        grant("d", charged_to="y", space="elsewhere")
        release(grant("e", charged_to="y"), "e")
        grant("f", charged_to="y")
        expire("f")
        assert engine.count_live(SPACE) == {"x": 2, "y": 1}

    def test_counts_nothing_in_an_empty_space(self) -> None:
        assert engine.count_live(SPACE) == {}
