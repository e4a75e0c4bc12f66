"""Who waits for a group's row, or for a lease's behind it, is judged by the clock after the wait (G4)."""

from __future__ import annotations

import time
from collections.abc import Callable
from concurrent.futures import Future
from contextlib import AbstractContextManager, ExitStack
from datetime import timedelta
from functools import partial
from typing import TypeVar

import pytest
from django.db import connection

from octostore.leases.models import Ending, Lease, LeaseEvent, LeaseGroup
from octostore.leases.outcomes import Alive, Granted, GroupOver, Held, Vacant
from tests.leases.acts import (
    GROUP,
    MINUTE,
    NAME,
    acquire,
    bound,
    dissolve,
    form,
    grant,
    group_row,
    inspect,
    keep,
    look,
    release,
    renew,
    row,
    story,
    unbound,
)
from tests.leases.moving_time import age_group, expire_group, milliseconds
from tests.leases.outside import WAITING_FOR_A_LOCK, Execute, locked_group, locked_row, outside
from tests.leases.test_blockers import ending_of, see_it_wait
from tests.leases.threads import beside
from tests.players import now_ms

pytestmark = pytest.mark.usefixtures("database")

Result = TypeVar("Result")

HOUR = timedelta(hours=1)

# What is left of the group when a row is locked: more where the machine was too slow for less.
LEFT = [timedelta(milliseconds=100), timedelta(milliseconds=400), timedelta(seconds=2)]

PLACES: dict[str, Callable[[str], AbstractContextManager[None]]] = {
    "group": lambda kind: locked_group(kind=kind),
    "lease": lambda kind: locked_row(kind=kind),
}
kinds = pytest.mark.parametrize("kind", ["lock-only", "rolled-back", "updating"])
places = pytest.mark.parametrize("place", PLACES)


def bound_term() -> Granted:
    form()
    return grant(group=bound(), ttl=10 * MINUTE)


def unbound_term() -> Granted:
    form()
    return grant(group=unbound(), ttl=10 * MINUTE)


def free_name() -> Granted:
    form()
    granted = grant()
    release(granted)
    return granted


def waited_past_the_deadline(
    prepare: Callable[[], Granted], act: Callable[[Granted], Result], place: str, kind: str
) -> Result:
    """What `act` gives when a row is held from before it begins until the group's deadline is over."""
    for left in LEFT:
        granted = prepare()
        age_group(MINUTE - left)
        deadline = group_row().expires_at
        with ExitStack() as lock:
            lock.enter_context(PLACES[place](kind))
            with beside(partial(act, granted)) as waiting:
                # One that began to wait after the deadline would prove nothing.
                waits = seen_waiting(waiting) and now_ms() <= deadline
                while now_ms() <= deadline:
                    time.sleep(0.005)
                waits = waits and not waiting.done()
                lock.close()
                if waits:
                    return waiting.result()
        for table in (LeaseEvent, Lease, LeaseGroup):
            table.objects.all().delete()
    raise AssertionError("it never waited")


def seen_waiting(waiting: Future[Result]) -> bool:
    """Whether it waits for a lock, and did not end before."""
    if connection.vendor == "sqlite":
        # SQLite does not tell who waits for the file.
        time.sleep(0.05)
    else:
        with outside() as execute:
            while not waiting.done() and not execute(WAITING_FOR_A_LOCK, ()).fetchall():
                time.sleep(0.002)
    return not waiting.done()


def waited_for(change: Callable[[Execute], object], act: Callable[[], Result]) -> Result:
    """What `act` gives that waits for a transaction which has made `change`."""
    with ExitStack() as transaction:
        execute = transaction.enter_context(outside())
        execute("BEGIN IMMEDIATE" if connection.vendor == "sqlite" else "BEGIN", ())
        change(execute)
        with beside(act) as waiting:
            see_it_wait()
            assert not waiting.done()
            execute("COMMIT", ())
            return waiting.result()


@kinds
@places
class TestHeldPastTheGroupsDeadline:
    def test_a_keepalive_is_too_late(self, place: str, kind: str) -> None:
        outcome = waited_past_the_deadline(bound_term, lambda _: keep(), place, kind)
        assert outcome == GroupOver(key=GROUP, ended_at=group_row().expires_at)
        assert row().expires_at == group_row().expires_at
        assert isinstance(inspect(), Vacant)

    def test_an_end_is_too_late(self, place: str, kind: str) -> None:
        assert isinstance(waited_past_the_deadline(bound_term, lambda _: dissolve(), place, kind), GroupOver)
        assert (group_row().ending, group_row().ended_at) == ("expired", group_row().expires_at)
        grant()
        assert story() == [(1, "acquired"), (2, "expired"), (3, "acquired")]

    def test_a_renewal_is_refused(self, place: str, kind: str) -> None:
        def act(granted: Granted) -> Ending | None:
            return ending_of(lambda: renew(granted, ttl=MINUTE))

        assert waited_past_the_deadline(bound_term, act, place, kind) is Ending.EXPIRED
        assert row().renewals == 0

    def test_the_group_gets_it_not_again(self, place: str, kind: str) -> None:
        outcome = waited_past_the_deadline(bound_term, lambda _: acquire(group=bound()), place, kind)
        assert isinstance(outcome, GroupOver)
        assert "acquired" not in [what for _, what in story()[1:]]

    def test_the_group_gets_no_more_of_what_lives_on(self, place: str, kind: str) -> None:
        outcome = waited_past_the_deadline(unbound_term, lambda _: acquire(group=unbound(), ttl=HOUR), place, kind)
        assert isinstance(outcome, GroupOver)
        assert row().expires_at == row().began_at + milliseconds(10 * MINUTE)

    def test_the_group_gets_nothing_new(self, place: str, kind: str) -> None:
        outcome = waited_past_the_deadline(free_name, lambda _: acquire(group=bound()), place, kind)
        assert isinstance(outcome, GroupOver)
        assert story() == [(1, "acquired"), (2, "released")]


class TestWhatAKeepaliveWaitedFor:
    """A lease that the group acquired while its row was locked: the keepalive and the end must see it."""

    def acquired_meanwhile(self, execute: Execute) -> None:
        if connection.vendor == "postgresql":
            execute("SELECT 1 FROM leases_leasegroup FOR SHARE", ())
        execute(
            "UPDATE leases_lease SET group_id = %s, bound = %s, ended_at = NULL, ending = '', capability_digest = %s,"
            " own_expires_at = %s, expires_at = (SELECT expires_at FROM leases_leasegroup)",
            (GROUP, True, b"another's", now_ms() + 10**6),
        )

    def test_moves_with_it(self) -> None:
        form()
        release(grant())
        age_group(MINUTE / 2)
        kept = waited_for(self.acquired_meanwhile, keep)
        assert isinstance(kept, Alive)
        assert row().expires_at == kept.expires_at

    def test_ends_with_the_group(self) -> None:
        form()
        release(grant())
        assert isinstance(waited_for(self.acquired_meanwhile, dissolve), Alive)
        assert isinstance(inspect(), Vacant)
        assert row().ended_at == group_row().ended_at


class TestAKeepaliveThatIsUnderWay:
    """It has moved group and lease, and commits after the deadline that others still see."""

    def kept_meanwhile(self, execute: Execute) -> None:
        later = now_ms() + milliseconds(MINUTE)
        execute("UPDATE leases_leasegroup SET expires_at = %s", (later,))
        execute("UPDATE leases_lease SET expires_at = %s", (later,))

    def test_is_waited_for_by_a_rival(self) -> None:
        form()
        first = grant(group=bound(), ttl=10 * MINUTE)
        expire_group()
        outcome = waited_for(self.kept_meanwhile, acquire)
        assert isinstance(outcome, Held)
        assert outcome.hold.term == first.hold.term

    def test_is_waited_for_by_who_asks_for_the_group(self) -> None:
        form()
        grant(group=bound(), ttl=10 * MINUTE)
        expire_group()
        assert isinstance(waited_for(self.kept_meanwhile, look), Alive)
        assert group_row().ended_at is None

    def test_is_waited_for_by_the_holder(self) -> None:
        form()
        granted = grant(group=bound(), ttl=10 * MINUTE)
        expire_group()
        assert waited_for(self.kept_meanwhile, lambda: renew(granted, ttl=10 * MINUTE)).remaining > MINUTE / 2

    def test_is_waited_for_by_who_gives_back(self) -> None:
        form()
        granted = grant(group=bound(), ttl=10 * MINUTE)
        expire_group()
        waited_for(self.kept_meanwhile, lambda: release(granted))
        assert story() == [(1, "acquired"), (2, "released")]


class TestAGroupThatIsEndedMeanwhile:
    def ended_meanwhile(self, execute: Execute) -> None:
        execute("UPDATE leases_leasegroup SET ended_at = %s, ending = 'released'", (now_ms(),))

    def test_gets_nothing_more(self) -> None:
        form()
        assert isinstance(waited_for(self.ended_meanwhile, lambda: acquire(group=bound())), GroupOver)
        assert not [event for event in story(NAME) if event]

    def test_is_not_kept(self) -> None:
        form()
        assert isinstance(waited_for(self.ended_meanwhile, keep), GroupOver)
