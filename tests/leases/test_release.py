"""Release: the right capability of a live term ends it, once."""

from __future__ import annotations

import pytest

from octostore.leases import engine
from octostore.leases.errors import NotCurrent
from octostore.leases.models import Ending, Lease
from octostore.leases.outcomes import Delayed, Held, Released, Vacant
from tests.leases.acts import MINUTE, NAME, SPACE, acquire, grant, inspect, recorded, release, renew, story
from tests.leases.moving_time import age, expire
from tests.leases.threads import together
from tests.players import now_ms

pytestmark = pytest.mark.usefixtures("database")


class TestALiveTerm:
    def test_ends_now_and_tells_which_it_was(self) -> None:
        granted = grant(holder="atlas")
        before = now_ms()
        released = release(granted)
        assert (released.hold.term, released.hold.holder) == (granted.hold.term, "atlas")
        assert released.hold.ending is Ending.RELEASED
        assert before <= (released.hold.ended_at or 0) <= now_ms()

    def test_leaves_the_name_vacant(self) -> None:
        granted = grant()
        release(granted)
        outcome = inspect()
        assert isinstance(outcome, Vacant)
        assert outcome.last is not None
        assert outcome.last.term == granted.hold.term

    def test_is_recorded_with_its_renewals(self) -> None:
        granted = grant(metadata="m")
        renew(granted)
        released = release(granted)
        _, event = recorded()
        assert (event.n, event.kind, event.at) == (2, "released", released.hold.ended_at)
        assert (event.term, event.renewals, event.metadata) == (granted.hold.term, 1, "m")
        assert (event.reason, event.actor) == ("", "")


class TestARepeat:
    def test_is_refused_and_told_that_it_worked(self) -> None:
        granted = grant()
        release(granted)
        for _ in range(2):
            with pytest.raises(NotCurrent) as refused:
                release(granted)
            assert refused.value.ending is Ending.RELEASED
        assert story() == [(1, "acquired"), (2, "released")]

    def test_does_not_free_who_came_after(self) -> None:
        granted = grant()
        release(granted)
        grant(holder="borea")
        before = Lease.objects.values().get()
        with pytest.raises(NotCurrent) as refused:
            release(granted)
        assert refused.value.ending is None
        assert Lease.objects.values().get() == before

    def test_twenty_at_once_end_one_term_once(self) -> None:
        granted = grant()

        def one(_: int) -> Released | NotCurrent:
            try:
                return release(granted)
            except NotCurrent as refused:
                return refused

        outcomes = together(20, one)
        assert sum(isinstance(outcome, Released) for outcome in outcomes) == 1
        assert {outcome.ending for outcome in outcomes if isinstance(outcome, NotCurrent)} == {Ending.RELEASED}
        assert story() == [(1, "acquired"), (2, "released")]


class TestALateRelease:
    def test_of_an_expired_term_is_refused(self) -> None:
        granted = grant()
        expire()
        with pytest.raises(NotCurrent) as refused:
            release(granted)
        assert refused.value.ending is Ending.EXPIRED
        assert story() == [(1, "acquired"), (2, "expired")]

    def test_of_a_taken_over_term_frees_nobody(self) -> None:
        granted = grant()
        expire()
        grant(holder="borea")
        with pytest.raises(NotCurrent):
            release(granted)
        assert isinstance(acquire(holder="atlas"), Held)


class TestAWrongCapability:
    @pytest.mark.parametrize("wrong", ["", "A" * 43, "\u00e9"], ids=ascii)
    def test_is_refused_and_changes_nothing(self, wrong: str) -> None:
        grant()
        before = Lease.objects.values().get()
        with pytest.raises(NotCurrent) as refused:
            engine.release(SPACE, NAME, capability=wrong)
        assert refused.value.ending is None
        assert Lease.objects.values().get() == before


class TestADelay:
    def test_does_not_follow_a_release(self) -> None:
        release(grant(delay=MINUTE))
        assert isinstance(inspect(), Vacant)
        grant(holder="borea")

    def test_follows_where_it_is_asked_for(self) -> None:
        released = release(grant(delay=MINUTE), delayed=True)
        outcome = acquire()
        assert isinstance(outcome, Delayed)
        assert outcome.available_at == (released.hold.ended_at or 0) + 60_000
        assert outcome.last.term == released.hold.term
        assert MINUTE / 2 < outcome.remaining <= MINUTE

    def test_ends(self) -> None:
        release(grant(delay=MINUTE), delayed=True)
        age(MINUTE)
        grant(holder="borea")

    def test_of_no_length_delays_nobody(self) -> None:
        release(grant(), delayed=True)
        grant(holder="borea")

    def test_follows_an_expiry_from_the_deadline(self) -> None:
        granted = grant(delay=MINUTE)
        age(MINUTE + MINUTE / 2)
        outcome = acquire()
        assert isinstance(outcome, Delayed)
        assert outcome.available_at == granted.hold.expires_at - 90_000 + 60_000
        assert outcome.remaining <= MINUTE / 2
        age(MINUTE / 2)
        grant(holder="borea")

    def test_is_the_same_whether_the_expiry_was_marked_or_not(self) -> None:
        grant(delay=MINUTE)
        expire()
        unmarked = inspect()
        engine.settle(SPACE, NAME)
        marked = inspect()
        assert isinstance(unmarked, Delayed)
        assert isinstance(marked, Delayed)
        assert unmarked.available_at == marked.available_at
        assert isinstance(acquire(), Delayed)
        assert story() == [(1, "acquired"), (2, "expired")]

    def test_is_told_to_a_loser_without_a_write(self) -> None:
        grant(delay=MINUTE)
        expire()
        before = Lease.objects.values().get()
        assert isinstance(acquire(), Delayed)
        assert Lease.objects.values().get() == before
