"""Sweep: marks what is due, in batches, beside others who do the same."""

from __future__ import annotations

import time

import pytest

from octostore.leases import reaper
from octostore.leases.models import Lease, LeaseEvent
from octostore.leases.outcomes import Held
from tests.leases.acts import MINUTE, NAME, SECOND, SPACE, grant, inspect, recorded, release, renew, row, story
from tests.leases.moving_time import age, expire
from tests.leases.outside import locked_row
from tests.leases.threads import together
from tests.players import now_ms

pytestmark = pytest.mark.usefixtures("database")


def overdue(count: int) -> None:
    """That many leases whose deadline has just passed."""
    past = now_ms() - 1
    Lease.objects.bulk_create(
        Lease(space=SPACE, name=f"{number:06}", term=1, incarnation=1, events=1, expires_at=past, holder="atlas")
        for number in range(count)
    )


class TestASweep:
    def test_marks_overdue_terms_at_their_deadline(self) -> None:
        granted = grant(holder="atlas")
        expire(ago=MINUTE)
        deadline = row().expires_at
        assert reaper.sweep() == 1
        assert (row().ended_at, row().ending) == (deadline, "expired")
        event = recorded()[-1]
        assert (event.n, event.kind, event.at, event.term) == (2, "expired", deadline, granted.hold.term)

    def test_keeps_the_delay_of_the_term(self) -> None:
        grant(delay=MINUTE)
        expire()
        reaper.sweep()
        assert row().available_at == row().expires_at + 60_000

    def test_leaves_everything_else_alone(self) -> None:
        grant("live")
        release(grant("released"), "released")
        grant("swept")
        expire("swept")
        reaper.sweep()
        before = list(Lease.objects.order_by("id").values())
        assert reaper.sweep() == 0
        assert list(Lease.objects.order_by("id").values()) == before

    def test_does_not_end_a_lease_that_was_renewed_in_time(self) -> None:
        granted = grant()
        age(MINUTE - MINUTE / 10)
        renew(granted)
        assert reaper.sweep() == 0
        assert isinstance(inspect(), Held)

    def test_leaves_a_term_its_last_moments(self) -> None:
        grant()
        age(MINUTE - SECOND)
        assert reaper.sweep() == 0
        assert row().ended_at is None

    def test_goes_through_all_batches(self) -> None:
        overdue(2 * reaper.BATCH + 1)
        assert reaper.sweep() == 2 * reaper.BATCH + 1
        assert LeaseEvent.objects.filter(kind="expired").count() == 2 * reaper.BATCH + 1
        assert not Lease.objects.filter(ended_at=None).exists()

    def test_stops_in_time_and_the_next_goes_on(self, monkeypatch: pytest.MonkeyPatch) -> None:
        monkeypatch.setattr(reaper, "BATCH", 2)
        overdue(5)
        assert [reaper.sweep(seconds=-1) for _ in range(4)] == [2, 2, 1, 0]

    def test_holds_no_transaction_longer_than_a_fifth_of_a_second(self) -> None:
        overdue(reaper.BATCH)
        durations = []
        for _ in range(3):
            LeaseEvent.objects.all().delete()
            Lease.objects.update(ended_at=None, events=1)
            started = time.monotonic()
            reaper.sweep(seconds=-1)
            durations.append(time.monotonic() - started)
        assert min(durations) < 0.2


class TestSweepersAtOnce:
    def test_end_each_term_once(self, monkeypatch: pytest.MonkeyPatch) -> None:
        monkeypatch.setattr(reaper, "BATCH", 7)
        overdue(100)
        together(4, lambda _: reaper.sweep())
        reaper.sweep()
        assert LeaseEvent.objects.count() == 100
        assert set(Lease.objects.values_list("events", "ending")) == {(2, "expired")}

    def test_do_not_get_in_the_way_of_takers(self) -> None:
        for round_number in range(5):
            name = f"{NAME}-{round_number}"
            grant(name)
            expire(name)

            def act(number: int, name: str = name) -> int:
                if number % 2:
                    return reaper.sweep()
                return grant(name).hold.term if number == 0 else 0

            together(5, act)
            assert story(name) == [(1, "acquired"), (2, "expired"), (3, "acquired")]
            assert isinstance(inspect(name), Held)

    @pytest.mark.only("postgresql")
    def test_do_not_wait_for_a_locked_row(self) -> None:
        grant("locked")
        expire("locked")
        grant("free")
        expire("free")
        with locked_row("locked"):
            assert reaper.sweep() == 1
        assert reaper.sweep() == 1
        assert story("locked") == [(1, "acquired"), (2, "expired")]
