"""Quotas: a space never has more counted terms than it may, and lacks none for long."""

from __future__ import annotations

import random
import time
from contextlib import ExitStack, suppress
from datetime import timedelta

import pytest
from django.db import connection

from octostore.leases import engine, reaper
from octostore.leases.errors import NotCurrent
from octostore.leases.models import Lease, LeaseEvent
from octostore.leases.outcomes import AttemptOver, Granted, Held, QuotaReached
from tests.leases.acts import (
    NAME,
    SPACE,
    acquire,
    bound,
    dissolve,
    form,
    grant,
    recorded,
    release,
    renew,
    unbound,
)
from tests.leases.moving_time import expire, expire_group
from tests.leases.outside import locked_row, outside, waiting_backends
from tests.leases.threads import beside, together
from tests.players import now_ms

pytestmark = pytest.mark.usefixtures("database")


def fill(count: int, **more: object) -> list[Granted]:
    """That many counted terms of a minute, `0` and on."""
    return [grant(str(number), quota=count, **more) for number in range(count)]


class TestAQuota:
    def test_is_how_many_terms_there_may_be(self) -> None:
        fill(3)
        assert acquire(quota=3) == QuotaReached()
        assert isinstance(acquire(quota=4), Granted)

    def test_of_nothing_lets_nothing_be(self) -> None:
        assert acquire(quota=0) == QuotaReached()

    def test_that_shrank_ends_nothing(self) -> None:
        terms = fill(3)
        assert acquire(quota=1) == QuotaReached()
        renew(terms[2], "2")

    @pytest.mark.parametrize("end", ["released", "expired", "revoked", "swept", "restored"])
    def test_has_room_again_once_a_term_has_ended(self, end: str) -> None:
        terms = fill(3)
        match end:
            case "released":
                release(terms[0], "0")
            case "revoked":
                engine.revoke(SPACE, "0", term=terms[0].hold.term, reason="", actor="")
            case "restored":
                reaper.after_restore(actor="ada")
            case _:
                expire("0")
        if end == "swept":
            reaper.sweep()
        grant(quota=3)
        assert end == "restored" or acquire("another", quota=3) == QuotaReached()

    @pytest.mark.parametrize("end", ["dissolved", "expired"])
    def test_has_room_again_once_a_group_has_ended(self, end: str) -> None:
        form()
        fill(3, group=bound())
        if end == "dissolved":
            dissolve()
        else:
            expire_group()
        for name in ("one", "two", "three"):
            grant(name, quota=3)
        assert acquire("four", quota=3) == QuotaReached()

    def test_is_of_one_space(self) -> None:
        fill(3)
        grant(space="elsewhere", quota=1)
        assert acquire("another", space="elsewhere", quota=1) == QuotaReached()

    def test_does_not_count_terms_that_were_acquired_without_one(self) -> None:
        for number in range(5):
            grant(f"uncounted-{number}")
        fill(2)
        assert acquire(quota=2) == QuotaReached()

    def test_counts_a_name_anew_that_was_acquired_without_one(self) -> None:
        release(grant())
        release(grant(quota=1))
        grant()
        grant("another", quota=1)


class TestWhoeverAsks:
    def test_at_the_quota_is_told_who_holds_a_name(self) -> None:
        fill(3)
        assert isinstance(acquire("0", quota=3), Held)

    def test_takes_over_the_expired_name_that_filled_it(self) -> None:
        first = fill(1)[0]
        expire("0")
        assert grant("0", quota=1).hold.term > first.hold.term
        assert [event.kind for event in recorded("0")] == ["acquired", "expired", "acquired"]

    def test_at_the_quota_gets_what_it_has_by_its_attempt(self) -> None:
        first = grant(quota=1, attempt="attempt")
        assert grant(quota=1, attempt="attempt").capability == first.capability

    def test_at_the_quota_gets_what_its_group_has(self) -> None:
        form()
        first = grant(quota=1, group=unbound())
        assert grant(quota=1, group=unbound()).capability == first.capability

    def test_of_an_attempt_that_is_over_learns_that(self) -> None:
        granted = grant(attempt="attempt", quota=1)
        release(granted)
        grant("another", quota=1)
        assert acquire(attempt="attempt", quota=1) == AttemptOver(term=granted.hold.term)

    def test_marks_the_ends_that_made_room(self) -> None:
        fill(3)
        for name in ("0", "1"):
            expire(name)
        grant(quota=3)
        kinds = [event.kind for name in ("0", "1", "2") for event in recorded(name)]
        assert sorted(kinds) == ["acquired"] * 3 + ["expired"] * (2 if connection.vendor == "postgresql" else 0)


@pytest.mark.only("postgresql")
class TestBesideTransactionsUnderWay:
    def test_a_term_that_is_being_renewed_counts_although_its_deadline_has_passed(self) -> None:
        """The renewal read its clock in time: it may yet commit, and then the term lives."""
        fill(3)
        expire("0")
        with outside() as execute:
            execute("BEGIN", ())
            execute("UPDATE leases_lease SET expires_at = %s WHERE name = '0'", (now_ms() + 10**6,))
            assert acquire(quota=3) == QuotaReached()
            execute("COMMIT", ())
        assert acquire(quota=3) == QuotaReached()
        assert Lease.objects.exclude(open_in=None).filter(expires_at__gt=now_ms()).count() == 3

    def test_one_that_waits_for_a_name_keeps_no_other_waiting(self) -> None:
        release(grant())
        with ExitStack() as lock:
            lock.enter_context(locked_row())
            with beside(lambda: acquire(quota=3)) as waiting:
                waiting_backends()
                grant("another", quota=3)
                assert not waiting.done()
                lock.close()
                assert isinstance(waiting.result(), Granted)


class TestAtOnce:
    def test_two_hundred_acquires_end_exactly_at_the_quota(self) -> None:
        outcomes = together(40, lambda who: [acquire(f"{who}-{number}", quota=17) for number in range(5)])
        told = [type(outcome) for mine in outcomes for outcome in mine]
        assert (told.count(Granted), told.count(QuotaReached)) == (17, 183)
        assert Lease.objects.exclude(open_in=None).count() == 17

    def test_spaces_do_not_get_in_each_others_way(self) -> None:
        outcomes = together(20, lambda who: [acquire(f"{who}-{n}", space=str(who % 4), quota=5) for n in range(3)])
        assert sum(isinstance(outcome, Granted) for mine in outcomes for outcome in mine) == 20

    def test_ends_and_expiries_make_room_for_as_many_and_no_more(self) -> None:
        quota, finish = 5, time.monotonic() + 2.5

        def act(who: int) -> int:
            done = 0
            while time.monotonic() < finish:
                outcome = acquire(f"{who}-{done % 3}", quota=quota, ttl=timedelta(milliseconds=random.randint(1, 40)))
                if isinstance(outcome, Granted):
                    done += 1
                    if random.random() < 0.6:
                        give_back(f"{who}-{(done - 1) % 3}", outcome)
                elif isinstance(outcome, QuotaReached):
                    time.sleep(0.001)
            return done

        done = together(10, act)
        assert min(done) > 0, "everybody got something"
        assert most_at_once() == quota

    def test_groups_and_their_ends_make_room_for_as_many_and_no_more(self) -> None:
        quota, finish = 4, time.monotonic() + 2

        def act(who: int) -> int:
            done = 0
            while time.monotonic() < finish:
                key = f"{who}-{done}"
                form(key)
                for number in range(3):
                    acquire(f"{who}-{number}", quota=quota, group=bound(key))
                dissolve(key)
                done += 1
            return done

        assert min(together(8, act)) > 0
        assert most_at_once() == quota


def give_back(name: str, granted: Granted) -> None:
    with suppress(NotCurrent):
        release(granted, name)


def most_at_once() -> int:
    """The most terms that lived at one instant, by the database's own account."""
    reaper.sweep()
    changes = [
        (event.at, 1 if event.kind == "acquired" else -1) for event in LeaseEvent.objects.filter(lease__space=SPACE)
    ]
    living = most = 0
    for _, change in sorted(changes):
        living += change
        most = max(most, living)
    return most


class TestWhatItCosts:
    @pytest.mark.only("postgresql")
    def test_is_looked_up_and_not_searched_for(self) -> None:
        """However many names of the space are idle."""
        Lease.objects.bulk_create(Lease(space=SPACE, name=f"idle-{number}", ended_at=1) for number in range(1_000))
        fill(3)
        with connection.cursor() as cursor:
            cursor.execute("ANALYZE leases_lease")
            cursor.execute("EXPLAIN SELECT count(*) FROM leases_lease WHERE open_in = %s", [SPACE])
            plan = "".join(line for (line,) in cursor.fetchall())
        assert "lease_open" in plan

    @pytest.mark.only("postgresql")
    def test_nothing_where_there_is_none(self) -> None:
        """Grants and ends of uncounted terms touch no index."""

        def updated() -> tuple[int, int]:
            with connection.cursor() as cursor:
                cursor.execute("SELECT pg_stat_force_next_flush()")
                cursor.execute(
                    "SELECT n_tup_upd, n_tup_hot_upd FROM pg_stat_user_tables WHERE relname = 'leases_lease'"
                )
                found: tuple[int, int] = cursor.fetchone()
                return found

        release(grant(NAME))
        all_before, heap_only_before = updated()
        for _ in range(20):
            release(grant(NAME))
        all_after, heap_only_after = updated()
        assert all_after - all_before == 40
        # A row whose page is full moves to the next one, and is indexed anew there.
        assert heap_only_after - heap_only_before >= 36
