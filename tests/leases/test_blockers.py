"""Who waits for a name's row is judged by the clock after the wait, whatever the blocker did (G2, G4)."""

from __future__ import annotations

import time
from collections.abc import Callable
from contextlib import ExitStack
from datetime import timedelta
from typing import TypeVar

import pytest
from django.db import connection

from octostore.leases import engine
from octostore.leases.clock import EPOCH
from octostore.leases.errors import NotCurrent
from octostore.leases.models import Ending
from octostore.leases.outcomes import Granted, Held, Revoked, Vacant
from tests.leases.acts import MINUTE, NAME, SPACE, acquire, grant, release, renew, row, settle, story
from tests.leases.moving_time import age, expire, milliseconds
from tests.leases.outside import locked_row, outside, waiting_backends
from tests.leases.threads import beside
from tests.players import now_ms

pytestmark = pytest.mark.usefixtures("database")

Result = TypeVar("Result")

# What is left of the lease when its row is locked.
LEFT = timedelta(milliseconds=200)

kinds = pytest.mark.parametrize("kind", ["lock-only", "rolled-back", "updating"])


def begun_before_ended_after(act: Callable[[], Result], deadline: int, kind: str) -> tuple[Result, int]:
    """What `act` gives when the row is held from before it begins until after `deadline`; and when it was let go."""
    with ExitStack() as lock:
        lock.enter_context(locked_row(kind=kind))
        with beside(act) as waiting:
            see_it_wait()
            while now_ms() <= deadline:
                time.sleep(0.01)
            assert not waiting.done()
            let_go = now_ms()
            lock.close()
            return waiting.result(), let_go


def see_it_wait() -> None:
    if connection.vendor == "postgresql":
        waiting_backends()
    else:
        # SQLite does not tell who waits for the file.
        time.sleep(0.05)


def ending_of(act: Callable[[], object]) -> Ending | None:
    with pytest.raises(NotCurrent) as refused:
        act()
    return refused.value.ending


def nearly_over() -> tuple[Granted, int]:
    """A lease with little time left, and its deadline."""
    granted = grant()
    age(MINUTE - LEFT)
    return granted, granted.hold.expires_at - milliseconds(MINUTE - LEFT)


@kinds
class TestHeldPastTheDeadline:
    def test_a_renewal_is_refused(self, kind: str) -> None:
        granted, deadline = nearly_over()
        ending, _ = begun_before_ended_after(lambda: ending_of(lambda: renew(granted)), deadline, kind)
        assert ending is Ending.EXPIRED
        assert (row().renewals, row().expires_at) == (0, deadline)

    def test_a_release_is_refused(self, kind: str) -> None:
        granted, deadline = nearly_over()
        ending, _ = begun_before_ended_after(lambda: ending_of(lambda: release(granted)), deadline, kind)
        assert ending is Ending.EXPIRED
        assert story() == [(1, "acquired"), (2, "expired")]

    def test_a_removal_finds_the_term_over(self, kind: str) -> None:
        granted, deadline = nearly_over()

        def remove() -> object:
            return engine.revoke(SPACE, NAME, term=granted.hold.term, reason="", actor="")

        outcome, _ = begun_before_ended_after(remove, deadline, kind)
        assert not isinstance(outcome, Revoked)
        assert isinstance(outcome, Vacant)


@kinds
class TestATaker:
    @pytest.mark.parametrize("end", ["released", "expired"])
    def test_has_its_whole_ttl_from_after_the_wait(self, kind: str, end: str) -> None:
        first = grant(holder="atlas")
        if end == "released":
            release(first)
        else:
            expire()
        until = now_ms() + milliseconds(LEFT)
        granted, let_go = begun_before_ended_after(lambda: grant(holder="borea"), until, kind)
        assert granted.hold.began_at >= let_go
        assert granted.hold.expires_at - granted.hold.began_at == milliseconds(MINUTE)
        assert granted.hold.term >= let_go - EPOCH > first.hold.term


class TestABlockerThatChangesTheLease:
    def changed(self, act: Callable[[], Result], columns: str) -> Result:
        """What `act` gives when it waits for a transaction that sets `columns`."""
        with ExitStack() as lock:
            execute = lock.enter_context(outside())
            execute("BEGIN IMMEDIATE" if connection.vendor == "sqlite" else "BEGIN", ())
            execute(f"UPDATE leases_lease SET {columns}", ())
            with beside(act) as waiting:
                see_it_wait()
                execute("COMMIT", ())
                return waiting.result()

    def test_renewed_it_and_nothing_ends(self) -> None:
        grant()
        expire()
        outcome = self.changed(settle, f"expires_at = expires_at + {milliseconds(MINUTE)}")
        assert isinstance(outcome, Held)
        assert story() == [(1, "acquired")]

    def test_renewed_it_and_a_taker_loses(self) -> None:
        grant(holder="atlas")
        expire()
        outcome = self.changed(
            lambda: acquire(holder="borea"), f"expires_at = expires_at + {milliseconds(MINUTE)}, renewals = 1"
        )
        assert isinstance(outcome, Held)
        assert (outcome.hold.holder, outcome.hold.renewals) == ("atlas", 1)

    def test_ended_it_and_a_renewal_is_refused(self) -> None:
        granted = grant()
        ending = self.changed(
            lambda: ending_of(lambda: renew(granted)), "ended_at = expires_at - 1, ending = 'revoked'"
        )
        assert ending is Ending.REVOKED

    def test_gave_it_to_another_and_a_renewal_is_refused(self) -> None:
        granted = grant()
        stranger = "x'00'" if connection.vendor == "sqlite" else "'\\x00'::bytea"
        ending = self.changed(
            lambda: ending_of(lambda: renew(granted)), f"term = term + 1, capability_digest = {stranger}"
        )
        assert ending is None
        assert row().renewals == 0

    def test_raised_the_term_and_the_next_is_higher_still(self) -> None:
        release(grant())
        granted = self.changed(grant, "term = term + 1000000000")
        assert granted.hold.term > granted.hold.began_at - EPOCH

    def test_forgot_it_and_a_taker_wins_anew(self) -> None:
        first = grant()
        release(first)
        with ExitStack() as lock:
            execute = lock.enter_context(outside())
            execute("BEGIN IMMEDIATE" if connection.vendor == "sqlite" else "BEGIN", ())
            execute("DELETE FROM leases_leaseevent", ())
            execute("DELETE FROM leases_lease", ())
            with beside(grant) as waiting:
                see_it_wait()
                execute("COMMIT", ())
                second = waiting.result()
        assert second.hold.term > first.hold.term
        assert story() == [(1, "acquired")]
