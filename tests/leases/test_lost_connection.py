"""Connections that die, and answers that never came: replaced, recognised, or said to be unknown (G1, G5, G9)."""

from __future__ import annotations

import time
from collections.abc import Callable, Iterator
from contextlib import ExitStack, contextmanager
from datetime import timedelta
from typing import Any

import pytest
from django.db import connection, transaction
from pytest_django import Settings

from octostore.leases import engine, reaper, storage
from octostore.leases.errors import NotCurrent
from octostore.leases.models import Ending, Lease
from octostore.leases.outcomes import Held, Revoked, Vacant
from octostore.leases.rows import Grant, Row
from octostore.lib.errors import Unavailable
from tests.leases.acts import NAME, SPACE, acquire, grant, inspect, release, renew, row, story
from tests.leases.moving_time import expire
from tests.leases.nudges import nudges
from tests.leases.outside import locked_row, outside, waiting_backends
from tests.leases.threads import beside

pytestmark = pytest.mark.usefixtures("database")

postgresql = pytest.mark.only("postgresql")


def backend() -> int:
    with connection.cursor() as cursor:
        cursor.execute("SELECT pg_backend_pid()")
        return int(cursor.fetchone()[0])


def terminate(pid: int) -> None:
    """End a backend and see it gone."""
    with outside() as execute:
        assert execute("SELECT pg_terminate_backend(%s, 5000)", (pid,)).fetchone() == (True,)


@contextmanager
def reply_lost(verb: str) -> Iterator[list[str]]:
    """The first statement with `verb` in it is committed, and then the connection dies; gives the statements run."""
    run: list[str] = []

    def lose(execute: Callable[..., Any], sql: str, params: Any, many: bool, context: dict[str, Any]) -> Any:
        run.append(sql)
        result = execute(sql, params, many, context)
        if verb in sql and sum(verb in statement for statement in run) == 1:
            terminate(context["connection"].connection.info.backend_pid)
            with context["connection"].wrap_database_errors:
                context["connection"].connection.execute("SELECT 1")
        return result

    with connection.execute_wrapper(lose):
        yield run
    assert sum(verb in statement for statement in run) >= 1, f"{verb} never ran"


@postgresql
class TestAConnectionThatTheServerClosed:
    @pytest.fixture(autouse=True)
    def _holding(self, database: str) -> None:
        self.granted = grant()

    def test_is_replaced_unnoticed(self) -> None:
        terminate(backend())
        assert isinstance(inspect(), Held)

    @pytest.mark.parametrize("times", [1, 3])
    def test_is_replaced_each_time(self, times: int) -> None:
        for _ in range(times):
            terminate(backend())
            renew(self.granted)
        assert row().renewals == times

    def test_is_replaced_for_every_verb(self) -> None:
        for verb in (
            lambda: acquire(),
            lambda: renew(self.granted),
            lambda: engine.settle(SPACE, NAME),
            lambda: engine.count_live(SPACE),
            lambda: reaper.sweep(),
            lambda: reaper.forget(SPACE, idle=timedelta(days=1)),
            lambda: reaper.trim(terms_kept=1),
            lambda: release(self.granted),
            lambda: grant("another"),
        ):
            terminate(backend())
            verb()

    def test_is_replaced_when_it_was_idle_for_too_long(self) -> None:
        with connection.cursor() as cursor:
            cursor.execute("SET idle_session_timeout = '20ms'")
        pid = backend()
        with outside() as execute:
            while execute("SELECT 1 FROM pg_stat_activity WHERE pid = %s", (pid,)).fetchall():
                time.sleep(0.01)
        assert isinstance(inspect(), Held)

    def test_is_replaced_when_its_server_only_reads(self) -> None:
        with connection.cursor() as cursor:
            cursor.execute("SET default_transaction_read_only = on")
        assert renew(self.granted).hold.renewals == 1

    def test_is_replaced_in_the_midst_of_a_wait(self) -> None:
        with ExitStack() as lock:
            lock.enter_context(locked_row())
            with beside(lambda: renew(self.granted)) as renewal:
                [first] = waiting_backends()
                terminate(first)
                [second] = waiting_backends()
                assert second != first
                lock.close()
                assert renewal.result().hold.renewals == 1


@postgresql
class TestALostReply:
    def test_to_a_grant_is_recognised_by_its_nonce(self) -> None:
        with nudges() as heard, reply_lost("acquired AS"):
            granted = grant(holder="atlas")
        assert heard == [(SPACE, NAME, False)]
        assert not granted.replayed
        assert story() == [(1, "acquired")]
        assert granted.hold.term == row().term
        renew(granted)

    def test_to_a_grant_with_an_attempt_is_recognised_as_well(self) -> None:
        with reply_lost("acquired AS"):
            granted = grant(attempt="attempt")
        assert story() == [(1, "acquired")]
        assert grant(attempt="attempt").capability == granted.capability

    def test_to_a_takeover_is_recognised_too(self) -> None:
        release(grant(holder="atlas"))
        with reply_lost("acquired AS"):
            granted = grant(holder="borea")
        assert story() == [(1, "acquired"), (2, "released"), (3, "acquired")]
        release(granted)

    @pytest.mark.parametrize("attempt", [None, "attempt"])
    def test_to_a_grant_that_is_over_by_now_wins_no_second_term(self, attempt: str | None) -> None:
        def end(execute: Callable[..., Any], sql: str, *args: Any) -> Any:
            if "acquired AS" in sql and Lease.objects.filter(term__gt=0).exists():
                with outside() as other:
                    other("UPDATE leases_lease SET ended_at = began_at, ending = 'released'", ())
            return execute(sql, *args)

        with reply_lost("acquired AS"), connection.execute_wrapper(end), pytest.raises(Unavailable):
            acquire(attempt=attempt)
        assert [kind for _, kind in story()] == ["acquired"]

    def test_to_a_new_row_is_found_again(self) -> None:
        with reply_lost("DO NOTHING"):
            grant()
        assert story() == [(1, "acquired")]

    def test_to_a_read_is_asked_again(self) -> None:
        grant()
        with reply_lost("SELECT id, term"):
            assert isinstance(acquire(), Held)

    def test_to_a_renewal_is_renewed_again(self) -> None:
        granted = grant()
        with reply_lost("renewals = renewals + 1"):
            renewed = renew(granted)
        assert renewed.remaining == granted.remaining
        assert renewed.hold.term == granted.hold.term

    def test_to_a_release_is_told_as_a_repeat(self) -> None:
        granted = grant()
        with reply_lost("'released'"), pytest.raises(NotCurrent) as refused:
            release(granted)
        assert refused.value.ending is Ending.RELEASED
        assert story() == [(1, "acquired"), (2, "released")]

    def test_to_a_removal_shows_what_is_there(self) -> None:
        term = grant().hold.term
        with reply_lost("'revoked'"):
            outcome = engine.revoke(SPACE, NAME, term=term, reason="stuck", actor="ada")
        assert not isinstance(outcome, Revoked)
        assert isinstance(outcome, Vacant)
        assert outcome.last is not None
        assert outcome.last.ending is Ending.REVOKED
        assert story() == [(1, "acquired"), (2, "revoked")]


@postgresql
class TestAWarningOnCommit:
    """A cancelled wait for the synchronous standby reports success, and warns."""

    @pytest.fixture(autouse=True)
    def _warned(self, database: str) -> Iterator[None]:
        self.granted = grant()
        with outside() as execute:
            execute(
                "CREATE FUNCTION warn() RETURNS trigger LANGUAGE plpgsql"
                " AS $$ BEGIN RAISE WARNING 'w'; RETURN NULL; END $$",
                (),
            )
            execute(
                "CREATE CONSTRAINT TRIGGER warns AFTER UPDATE ON leases_lease"
                " DEFERRABLE INITIALLY DEFERRED FOR EACH ROW EXECUTE FUNCTION warn()",
                (),
            )
        yield
        with outside() as execute:
            execute("DROP FUNCTION warn CASCADE", ())

    def test_leaves_a_grant_unknown(self) -> None:
        with pytest.raises(Unavailable):
            acquire("another")

    def test_leaves_a_renewal_and_a_release_unknown(self) -> None:
        with pytest.raises(Unavailable):
            renew(self.granted)
        with pytest.raises(Unavailable):
            release(self.granted)

    def test_closes_the_connection(self) -> None:
        before = backend()
        with pytest.raises(Unavailable):
            renew(self.granted)
        assert connection.connection is None
        assert backend() != before

    def test_does_not_run_the_statement_again(self) -> None:
        with pytest.raises(Unavailable):
            renew(self.granted)
        assert row().renewals == 1

    def test_leaves_reads_alone(self) -> None:
        assert isinstance(inspect(), Held)

    def test_is_over_with_the_next_statement(self) -> None:
        with pytest.raises(Unavailable):
            renew(self.granted)
        with outside() as execute:
            execute("DROP TRIGGER warns ON leases_lease", ())
        assert renew(self.granted).hold.renewals == 2


@pytest.fixture
def short_waits(database: str, settings: Settings, monkeypatch: pytest.MonkeyPatch) -> Iterator[None]:
    """Storage may take 0.2 s."""
    settings.STORAGE_WAIT_SECONDS = 0.2
    if database == "sqlite":
        monkeypatch.setitem(connection.settings_dict["OPTIONS"], "timeout", 0.2)
        connection.close()
    yield
    connection.close()


class TestABusyName:
    @pytest.mark.usefixtures("short_waits")
    def test_is_unavailable_within_the_bounded_wait(self) -> None:
        granted = grant()
        started = time.monotonic()
        with locked_row(), pytest.raises(Unavailable) as unknown:
            renew(granted)
        assert 0.1 < time.monotonic() - started < 2
        assert unknown.value.retry_after_ms

    @pytest.mark.usefixtures("short_waits")
    def test_is_served_again_afterwards(self) -> None:
        granted = grant()
        with locked_row(), pytest.raises(Unavailable):
            renew(granted)
        assert renew(granted).hold.term == granted.hold.term

    def test_does_not_keep_readers_and_losers_waiting(self) -> None:
        grant()
        with locked_row():
            assert isinstance(inspect(), Held)
            assert isinstance(acquire(), Held)

    @postgresql
    @pytest.mark.usefixtures("short_waits")
    def test_is_given_up_by_closing_the_connection(self) -> None:
        granted = grant()
        before = backend()
        with locked_row(), pytest.raises(Unavailable):
            renew(granted)
        assert backend() != before

    @postgresql
    def test_is_given_up_by_the_server_before_anything_happened(self) -> None:
        granted = grant()
        with connection.cursor() as cursor:
            cursor.execute("SET lock_timeout = '50ms'")
        with locked_row(), pytest.raises(Unavailable):
            renew(granted)
        assert row().renewals == 0


class TestANonce:
    @pytest.mark.parametrize("end", ["released", "expired"])
    def test_takes_a_name_once(self, end: str) -> None:
        granted = grant()
        last = row()
        again = Grant(
            **{
                column: getattr(last, column) for column in Grant._fields if column in Row._fields and column != "nonce"
            },
            space=last.space,
            name=last.name,
            first_ms=last.ttl_ms,
            nonce=bytes(last.nonce or b""),
            principal=None,
            principal_name=None,
            quota=None,
        )
        if end == "released":
            release(granted)
        else:
            expire()
        assert storage.run(lambda transitions: transitions.take(again)) is None
        assert row().term == granted.hold.term


class TestInsideATransaction:
    def test_the_engine_does_not_run(self) -> None:
        with transaction.atomic(), pytest.raises(RuntimeError, match="after its commit"):
            acquire()
        assert not Lease.objects.exists()
