"""SQLite's clock: it never runs backwards, and goes on over steps of the wall clock and reboots (G3)."""

from __future__ import annotations

from collections.abc import Callable
from datetime import timedelta
from types import SimpleNamespace
from typing import Any

import pytest
from django.db import connection
from django.db.models import F

from octostore.leases import clock, engine
from octostore.leases.clock import Mark, Reading
from octostore.leases.errors import NotCurrent
from octostore.leases.models import Clock, Lease
from octostore.leases.outcomes import Held, Vacant
from tests.leases.acts import MINUTE, SECOND, SPACE, acquire, grant, inspect, release, renew, row
from tests.leases.moving_time import milliseconds
from tests.leases.threads import beside

HOUR = timedelta(hours=1)
MS_HOUR = milliseconds(HOUR)
THIS_BOOT, OTHER_BOOT = "this boot", "another boot"


def reading(*, wall: int, boottime: int, boot_id: str = THIS_BOOT) -> Reading:
    return Reading(wall=wall, boottime=boottime, boot_id=boot_id)


MARK = Mark(mark=1_000_000, boottime=5_000, boot_id=THIS_BOOT)


class TestAMark:
    def test_follows_a_wall_clock_that_runs_even(self) -> None:
        assert MARK.now(reading(wall=1_000_700, boottime=5_700)) == 1_000_700

    def test_goes_on_by_the_boot_clock_when_the_wall_clock_stepped_back(self) -> None:
        assert MARK.now(reading(wall=1_000_700 - MS_HOUR, boottime=5_700)) == 1_000_700

    def test_steps_forward_with_the_wall_clock(self) -> None:
        assert MARK.now(reading(wall=1_000_700 + MS_HOUR, boottime=5_700)) == 1_000_700 + MS_HOUR

    def test_counts_a_suspended_machine(self) -> None:
        assert MARK.now(reading(wall=0, boottime=5_000 + MS_HOUR)) == 1_000_000 + MS_HOUR

    def test_ignores_the_boot_clock_of_another_boot(self) -> None:
        assert MARK.now(reading(wall=1_000_700, boottime=10**9, boot_id=OTHER_BOOT)) == 1_000_700

    @pytest.mark.parametrize("boot_id", [THIS_BOOT, OTHER_BOOT])
    def test_is_never_passed_backwards(self, boot_id: str) -> None:
        assert MARK.now(reading(wall=0, boottime=0, boot_id=boot_id)) == MARK.mark

    def test_takes_a_pause_between_the_two_readings_for_no_step_forward(self) -> None:
        paused = reading(wall=1_000_000, boottime=5_000 + MS_HOUR)
        written = Mark(mark=Mark(0, 0, "").now(paused), boottime=paused.boottime, boot_id=paused.boot_id)
        true_now = 1_000_000 + MS_HOUR + 1_000
        assert written.now(reading(wall=true_now, boottime=5_000 + MS_HOUR + 1_000)) == true_now

    def test_gains_nothing_by_being_written_often(self) -> None:
        mark, wall, boottime = MARK, 1_000_000, 5_000
        for _ in range(1_000):
            boottime += 7
            now = reading(wall=wall - MS_HOUR, boottime=boottime)
            mark = Mark(mark=mark.now(now), boottime=now.boottime, boot_id=now.boot_id)
        assert mark.mark == 1_000_000 + 7_000


class TestAReading:
    def test_looks_at_the_wall_clock_first(self, monkeypatch: pytest.MonkeyPatch) -> None:
        seconds = iter(range(1, 10))
        monkeypatch.setattr(
            clock,
            "time",
            SimpleNamespace(time_ns=lambda: next(seconds) * 10**9, clock_gettime_ns=lambda _: next(seconds) * 10**9),
        )
        taken = clock.read()
        assert (taken.wall, taken.boottime) == (1_000, 2_000)

    def test_is_of_this_machines_boot(self) -> None:
        first, second = clock.read(), clock.read()
        assert first.boot_id == second.boot_id != ""
        assert first.wall <= second.wall
        assert first.boottime <= second.boottime


def wall_stepped_back(by: timedelta) -> None:
    """The database's clock is ahead of the wall clock, as after its step back."""
    Clock.objects.update(mark=F("mark") + milliseconds(by))
    Lease.objects.update(
        **{column: F(column) + milliseconds(by) for column in ("began_at", "expires_at", "ended_at", "available_at")}
    )


def passed_since_the_mark(by: timedelta) -> None:
    """So much went by on the boot clock since the last write."""
    Clock.objects.update(boottime=F("boottime") - milliseconds(by))


@pytest.mark.only("sqlite")
@pytest.mark.usefixtures("database")
class TestALeaseAfterAStepBack:
    def test_lives_on_with_its_remaining_time(self) -> None:
        granted = grant(ttl=MINUTE)
        wall_stepped_back(HOUR)
        outcome = inspect()
        assert isinstance(outcome, Held)
        assert MINUTE - SECOND < outcome.remaining <= MINUTE
        assert renew(granted).remaining == MINUTE

    def test_ends_at_its_deadline_by_the_boot_clock(self) -> None:
        granted = grant(ttl=MINUTE)
        wall_stepped_back(HOUR)
        passed_since_the_mark(MINUTE - SECOND)
        assert isinstance(acquire(), Held)
        passed_since_the_mark(SECOND)
        assert isinstance(inspect(), Vacant)
        with pytest.raises(NotCurrent):
            renew(granted)

    def test_stays_ended(self) -> None:
        granted = grant(ttl=MINUTE)
        passed_since_the_mark(MINUTE)
        assert isinstance(engine.settle(SPACE, row().name), Vacant)
        ended_at = row().ended_at
        passed_since_the_mark(-HOUR)
        assert isinstance(inspect(), Vacant)
        assert row().ended_at == ended_at
        assert grant().hold.term > granted.hold.term

    def test_gives_rising_terms(self) -> None:
        first = grant()
        release(first)
        wall_stepped_back(HOUR)
        second = grant()
        release(second)
        wall_stepped_back(-2 * HOUR)
        assert first.hold.term < second.hold.term < grant().hold.term


@pytest.mark.only("sqlite")
@pytest.mark.usefixtures("database")
class TestALeaseAfterAReboot:
    """The mark is ahead of the wall clock, and its boot time is that of another boot."""

    @pytest.fixture(autouse=True)
    def _rebooted(self, database: str) -> None:
        self.granted = grant(ttl=MINUTE)
        wall_stepped_back(HOUR)
        Clock.objects.update(boot_id=OTHER_BOOT, boottime=0)

    def test_is_held_from_the_mark_on(self) -> None:
        outcome = inspect()
        assert isinstance(outcome, Held)
        assert MINUTE - SECOND < outcome.remaining <= MINUTE

    def test_ends_though_it_is_only_read(self) -> None:
        assert isinstance(inspect(), Held)
        assert Clock.objects.get().boot_id == clock.boot_id()
        passed_since_the_mark(MINUTE)
        assert isinstance(inspect(), Vacant)

    def test_ends_though_it_is_only_counted(self) -> None:
        assert engine.count_live(SPACE) == {"": 1}
        passed_since_the_mark(MINUTE)
        assert engine.count_live(SPACE) == {}

    def test_can_be_renewed_and_followed(self) -> None:
        renew(self.granted)
        release(self.granted)
        assert grant().hold.term > self.granted.hold.term


@pytest.mark.only("sqlite")
@pytest.mark.usefixtures("database")
class TestWriting:
    def test_moves_the_mark_along(self) -> None:
        granted = grant()
        assert Clock.objects.get().mark >= granted.hold.began_at

    def test_makes_the_clock_where_there_is_none(self) -> None:
        assert not Clock.objects.exists()
        assert engine.count_live(SPACE) == {}
        grant()
        assert Clock.objects.count() == 1

    def test_a_loser_leaves_the_clock_alone(self) -> None:
        grant()
        before = Clock.objects.values().get()
        assert isinstance(acquire(), Held)
        assert Clock.objects.values().get() == before

    def test_a_renewal_that_a_slow_reader_has_not_seen_is_no_end_to_it(self, monkeypatch: pytest.MonkeyPatch) -> None:
        granted = grant(ttl=MINUTE)
        passed_since_the_mark(MINUTE - SECOND)
        real = clock.boottime

        def slow(execute: Callable[..., Any], sql: str, *args: Any) -> Any:
            found = execute(sql, *args)
            with beside(lambda: renew(granted)) as renewal:
                renewal.result()
            monkeypatch.setattr(clock, "boottime", lambda: real() + milliseconds(2 * SECOND))
            return found

        with connection.execute_wrapper(slow):
            assert isinstance(inspect(), Held)
