"""Forget: idle names go with their history, and no old term can come back by it (G2)."""

from __future__ import annotations

from datetime import timedelta

import pytest

from octostore.leases import reaper
from octostore.leases.models import Lease, LeaseEvent
from octostore.leases.outcomes import Granted, Vacant
from tests.leases.acts import DAY, MINUTE, NAME, SPACE, acquire, grant, inspect, release, row, settle, story
from tests.leases.moving_time import age, expire, pass_time
from tests.leases.outside import locked_row
from tests.leases.threads import together

pytestmark = pytest.mark.usefixtures("database")

IDLE = DAY


def forget(*, idle: timedelta = IDLE) -> int:
    return reaper.forget(SPACE, idle=idle)


class TestAnIdleName:
    def test_is_forgotten_with_its_events(self) -> None:
        release(grant())
        pass_time(2 * DAY)
        assert forget() == 1
        assert not Lease.objects.exists()
        assert not LeaseEvent.objects.exists()

    def test_is_vacant_as_if_nobody_ever_held_it(self) -> None:
        release(grant())
        pass_time(2 * DAY)
        forget()
        outcome = inspect()
        assert isinstance(outcome, Vacant)
        assert outcome.last is None

    def test_starts_a_new_incarnation_with_a_higher_term(self) -> None:
        first = grant()
        release(first)
        pass_time(2 * DAY)
        forget()
        second = grant()
        assert second.hold.term > first.hold.term
        assert (row().incarnation, story()) == (second.hold.term, [(1, "acquired")])

    def test_is_forgotten_once_its_expiry_is_marked(self) -> None:
        grant()
        pass_time(2 * DAY)
        assert forget() == 0
        settle()
        assert forget() == 1

    def test_that_was_never_granted_is_forgotten_too(self) -> None:
        from octostore.leases import storage

        storage.run(lambda transitions: transitions.found(SPACE, NAME))
        assert forget() == 0
        pass_time(2 * DAY)
        assert forget() == 1

    def test_goes_in_batches(self, monkeypatch: pytest.MonkeyPatch) -> None:
        monkeypatch.setattr(reaper, "BATCH", 2)
        for name in "abcde":
            release(grant(name), name)
        pass_time(2 * DAY)
        assert forget() == 5


class TestWhatStays:
    def test_a_live_name(self) -> None:
        grant(ttl=10 * DAY)
        pass_time(2 * DAY)
        assert forget(idle=timedelta(0)) == 0

    def test_a_name_that_ended_lately(self) -> None:
        release(grant())
        pass_time(DAY - MINUTE)
        Lease.objects.update(term=1)
        assert forget() == 0
        pass_time(2 * MINUTE)
        assert forget() == 1

    def test_a_name_whose_term_is_not_a_day_below_the_floor(self) -> None:
        release(grant())
        age(2 * DAY)
        assert forget() == 0
        assert forget(idle=timedelta(0)) == 0

    def test_a_name_whose_clock_once_ran_ahead(self) -> None:
        release(grant())
        ahead = row().term + 10**12
        Lease.objects.update(term=ahead)
        pass_time(2 * DAY)
        assert forget() == 0
        assert grant().hold.term > ahead - 3 * 10**8

    def test_names_of_other_spaces(self) -> None:
        granted = grant(space="elsewhere")
        Lease.objects.update(ended_at=granted.hold.began_at)
        pass_time(2 * DAY)
        assert forget() == 0

    def test_events_of_other_names(self) -> None:
        release(grant("one"), "one")
        pass_time(2 * DAY)
        grant("two")
        forget()
        assert story("two") == [(1, "acquired")]

    @pytest.mark.only("postgresql")
    def test_a_name_that_somebody_holds_locked(self) -> None:
        release(grant())
        pass_time(2 * DAY)
        with locked_row():
            assert forget() == 0
        assert forget() == 1


class TestBesideATaker:
    def test_one_of_many_takers_wins_and_its_events_are_whole(self) -> None:
        for number in range(10):
            name = f"{NAME}-{number}"
            release(grant(name), name)
            pass_time(2 * DAY)

            def act(number: int, name: str = name) -> object:
                return forget() if number < 3 else acquire(name, holder=str(number))

            outcomes = together(8, act)
            assert sum(isinstance(outcome, Granted) for outcome in outcomes) == 1
            counts = [n for n, _ in story(name)]
            assert counts == list(range(1, row(name).events + 1))
            assert LeaseEvent.objects.exclude(lease_id__in=Lease.objects.values("pk")).count() == 0
            expire(name)
            settle(name)
