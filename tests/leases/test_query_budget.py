"""What each verb costs: statements on the lease tables, and who writes at all."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from typing import Any

import pytest
from django.db import connection

from octostore.leases import engine
from octostore.leases.errors import NotCurrent
from octostore.leases.outcomes import Delayed, Granted, Held, Vacant
from tests.leases.acts import (
    MINUTE,
    NAME,
    SPACE,
    acquire,
    bound,
    dissolve,
    form,
    grant,
    inspect,
    keep,
    release,
    renew,
    settle,
)
from tests.leases.moving_time import expire

pytestmark = pytest.mark.usefixtures("database")


@contextmanager
def statements() -> Iterator[list[str]]:
    """The statements sent to the database, in order."""
    sent: list[str] = []

    def note(execute: Callable[..., Any], sql: str, *args: Any) -> Any:
        sent.append(sql)
        return execute(sql, *args)

    with connection.execute_wrapper(note):
        yield sent


def steps(sent: list[str]) -> int:
    """Round trips on PostgreSQL; on SQLite, whose round trips cost nothing, transitions.

    There a writing transition shows as one reading of the clock, a reading one as one statement alone.
    """
    if connection.vendor == "postgresql":
        return len(sent)
    clocks = sum(sql.startswith("SELECT mark") for sql in sent)
    return clocks + sum("JOIN leases_clock" in sql for sql in sent)


@contextmanager
def only_reading() -> Iterator[None]:
    """The session may not write, and on PostgreSQL not even lock a row or take a transaction number."""
    switch = {"postgresql": "SET default_transaction_read_only = {}", "sqlite": "PRAGMA query_only = {}"}
    session = connection.connection
    with connection.cursor() as cursor:
        cursor.execute(switch[connection.vendor].format("on"))
    try:
        yield
    finally:
        assert connection.connection is session, "the session was replaced on the way"
        with connection.cursor() as cursor:
            cursor.execute(switch[connection.vendor].format("off"))


class TestStatements:
    def budget(self, verb: Callable[[], object], expected: int) -> None:
        with statements() as sent, suppress(NotCurrent):
            verb()
        assert steps(sent) == expected, sent

    def test_of_a_loser_are_one_read(self) -> None:
        grant()
        with statements() as sent:
            assert isinstance(acquire(), Held)
        assert len(sent) == 1
        assert sent[0].startswith("SELECT")
        assert "FOR UPDATE" not in sent[0]

    def test_of_a_new_name_are_three(self) -> None:
        self.budget(grant, 3)

    def test_of_a_known_name_are_two(self) -> None:
        release(grant())
        self.budget(grant, 2)

    def test_of_an_expired_name_are_two(self) -> None:
        grant()
        expire()
        self.budget(grant, 2)

    def test_of_a_replay_are_one(self) -> None:
        grant(attempt="attempt")
        self.budget(lambda: grant(attempt="attempt"), 1)

    def test_of_a_renewal_are_one(self) -> None:
        granted = grant()
        self.budget(lambda: renew(granted), 1)

    def test_of_a_release_are_one(self) -> None:
        granted = grant()
        self.budget(lambda: release(granted), 1)

    def test_of_a_removal_are_one(self) -> None:
        term = grant().hold.term
        self.budget(lambda: engine.revoke(SPACE, NAME, term=term, reason="", actor=""), 1)

    def test_of_a_wrong_capability_are_two(self) -> None:
        grant()
        self.budget(lambda: engine.renew(SPACE, NAME, capability="A" * 43), 2)

    def test_of_a_late_renewal_are_three(self) -> None:
        granted = grant()
        expire()
        self.budget(lambda: renew(granted), 3)

    def test_of_a_counted_name_are_no_more(self) -> None:
        release(grant(quota=1))
        self.budget(lambda: grant(quota=1), 2)

    def test_of_a_quota_that_is_used_up_are_three(self) -> None:
        grant("another", quota=1)
        release(grant())
        self.budget(lambda: acquire(quota=1), 3)

    def test_of_a_group_are_one_more_for_whether_it_lives(self) -> None:
        form()
        release(grant())
        self.budget(lambda: grant(group=bound()), 3)
        self.budget(lambda: grant(group=bound()), 3)

    def test_of_a_bound_renewal_are_three(self) -> None:
        form()
        granted = grant(group=bound())
        self.budget(lambda: renew(granted), 3)

    def test_of_a_keepalive_or_an_end_are_no_more_for_many_leases(self) -> None:
        form()
        for number in range(10):
            grant(str(number), group=bound())
        lock_and_change = 2 if connection.vendor == "postgresql" else 1
        self.budget(keep, lock_and_change)
        self.budget(dissolve, lock_and_change)

    def test_of_a_look_are_one(self) -> None:
        grant()
        self.budget(inspect, 1)
        self.budget(settle, 1)


class TestWhoOnlyReads:
    def test_a_loser(self) -> None:
        grant()
        with only_reading():
            assert isinstance(acquire(), Held)

    def test_a_loser_to_a_delay(self) -> None:
        release(grant(delay=MINUTE), delayed=True)
        with only_reading():
            assert isinstance(acquire(), Delayed)

    def test_a_replay(self) -> None:
        grant(attempt="attempt")
        with only_reading():
            assert isinstance(acquire(attempt="attempt"), Granted)

    def test_a_look(self) -> None:
        grant()
        expire()
        with only_reading():
            assert isinstance(inspect(), Vacant)

    def test_a_settled_look(self) -> None:
        grant()
        with only_reading():
            assert isinstance(settle(), Held)


@pytest.mark.only("postgresql")
class TestTheWritersPlace:
    def test_a_wrong_capability_locks_no_row(self) -> None:
        granted = grant()
        with connection.cursor() as cursor:
            cursor.execute("SELECT xmin, xmax, ctid FROM leases_lease")
            before = cursor.fetchall()
            for verb in (engine.renew, engine.release):
                with pytest.raises(NotCurrent):
                    verb(SPACE, NAME, capability="A" * 43)
            cursor.execute("SELECT xmin, xmax, ctid FROM leases_lease")
            assert cursor.fetchall() == before
        renew(granted)

    def test_renewals_stay_heap_only(self) -> None:
        def updated() -> tuple[int, int]:
            with connection.cursor() as cursor:
                cursor.execute("SELECT pg_stat_force_next_flush()")
                cursor.execute(
                    "SELECT n_tup_upd, n_tup_hot_upd FROM pg_stat_user_tables WHERE relname = 'leases_lease'"
                )
                found: tuple[int, int] = cursor.fetchone()
                return found

        granted = grant()
        all_before, heap_only_before = updated()
        for _ in range(50):
            renew(granted)
        all_after, heap_only_after = updated()
        assert (all_after - all_before, heap_only_after - heap_only_before) == (50, 50)
