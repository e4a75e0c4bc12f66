"""Looking on: what was missed since a revision, how far many names have come, and the nudge after a change."""

from __future__ import annotations

from contextlib import suppress
from datetime import timedelta

import pytest

from octostore.leases import engine, reaper, watching
from octostore.leases.errors import NotCurrent
from octostore.leases.outcomes import Held, Revision, Vacant
from octostore.leases.watching import NOTHING, Position
from tests.leases.acts import DAY, NAME, SPACE, acquire, grant, inspect, release, renew, row, settle
from tests.leases.moving_time import expire, pass_time
from tests.leases.nudges import nudges

pytestmark = pytest.mark.usefixtures("database")


def look(since: Revision | None) -> watching.Look:
    return watching.look(SPACE, NAME, since)


def kinds(since: Revision | None) -> list[tuple[int, str]]:
    seen = look(since)
    assert not seen.reset
    return [(event.n, event.kind) for event in seen.events]


class TestWhatWasMissed:
    def test_is_nothing_without_a_revision(self) -> None:
        grant()
        assert kinds(None) == []
        assert isinstance(look(None).state, Held)

    def test_is_nothing_at_the_latest(self) -> None:
        grant()
        assert kinds(inspect().revision) == []

    def test_comes_in_order(self) -> None:
        first = grant()
        since = inspect().revision
        release(first)
        grant()
        assert kinds(since) == [(2, "released"), (3, "acquired")]

    def test_goes_on_from_before_the_first_event(self) -> None:
        assert isinstance(look(NOTHING).state, Vacant)
        release(grant())
        assert kinds(NOTHING) == [(1, "acquired"), (2, "released")]

    def test_holds_an_expiry_that_nobody_had_marked(self) -> None:
        grant()
        since = inspect().revision
        expire()
        assert kinds(since) == [(2, "expired")]

    def test_shows_no_renewals(self) -> None:
        granted = grant()
        since = inspect().revision
        renew(granted)
        assert kinds(since) == []


class TestAReset:
    @pytest.mark.parametrize("by", [Revision(incarnation=1, n=0), Revision(incarnation=0, n=1)], ids=str)
    def test_answers_a_revision_of_another_incarnation_or_ahead(self, by: Revision) -> None:
        grant()
        now = inspect().revision
        seen = look(Revision(incarnation=now.incarnation + by.incarnation, n=now.n + by.n))
        assert seen.reset
        assert seen.events == []
        assert isinstance(seen.state, Held)

    def test_answers_who_missed_more_than_is_kept(self) -> None:
        grant_and_release()
        since = inspect().revision
        for _ in range(3):
            grant_and_release()
        reaper.trim(terms_kept=2)
        assert look(since).reset

    def test_answers_who_looks_again_after_the_name_was_forgotten(self) -> None:
        grant_and_release()
        since = inspect().revision
        pass_time(2 * DAY)
        reaper.forget(SPACE, idle=timedelta(0))
        assert look(since).reset
        grant()
        assert look(since).reset

    def test_answers_who_looks_again_after_a_restore(self) -> None:
        grant()
        since = inspect().revision
        reaper.after_restore(actor="ada")
        assert look(since).reset


def grant_and_release() -> None:
    release(grant())


class TestPositions:
    def test_tell_counts_and_deadlines_of_many_names(self) -> None:
        held, ended = grant("held"), grant("ended")
        release(ended, "ended")
        grant("overdue")
        expire("overdue")
        grant("elsewhere", space="elsewhere")
        found = watching.positions(SPACE, ["held", "ended", "overdue", "never", "elsewhere", "odd'\u00e9\""])
        assert found == {
            "held": Position(Revision(incarnation=held.hold.term, n=1), held.hold.expires_at),
            "ended": Position(Revision(incarnation=ended.hold.term, n=2), None),
            "overdue": Position(Revision(incarnation=row("overdue").incarnation, n=1), None),
            "never": Position(NOTHING, None),
            "elsewhere": Position(NOTHING, None),
            "odd'\u00e9\"": Position(NOTHING, None),
        }

    def test_of_a_state_and_of_the_table_agree(self) -> None:
        granted = grant()
        assert watching.positions(SPACE, [NAME]) == {NAME: Position.of(inspect())}
        renew(granted)
        assert watching.positions(SPACE, [NAME]) == {NAME: Position.of(inspect())}
        release(granted)
        assert watching.positions(SPACE, [NAME]) == {NAME: Position.of(inspect())}

    def test_of_no_names_are_none(self) -> None:
        assert watching.positions(SPACE, []) == {}


class TestTheNudge:
    def test_follows_each_change_after_its_commit(self) -> None:
        with nudges() as heard:
            granted = grant()
            renew(granted)
            release(granted)
            term = grant().hold.term
            engine.revoke(SPACE, NAME, term=term, reason="", actor="")
            grant()
            expire()
            settle()
        assert heard == [(SPACE, NAME, False)] * 7

    def test_does_not_follow_what_changes_nothing(self) -> None:
        granted = grant(attempt="attempt")
        with nudges() as heard:
            acquire()
            acquire(attempt="attempt")
            inspect()
            settle()
            for verb in (engine.renew, engine.release):
                with suppress(NotCurrent):
                    verb(SPACE, NAME, capability="A" * 43)
            engine.revoke(SPACE, NAME, term=granted.hold.term + 1, reason="", actor="")
        assert heard == []
