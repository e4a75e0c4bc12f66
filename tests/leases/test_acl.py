"""Acls: who may acquire a name, left with it and outliving its terms."""

from __future__ import annotations

import pytest

from octostore.leases import engine, reaper
from octostore.leases.acquiring import acl_entries, acl_text
from octostore.leases.engine import Access
from octostore.leases.errors import NotCurrent
from octostore.leases.models import Ending, Lease
from octostore.leases.outcomes import AclDiffers, Granted, Held, Refused, Vacant
from tests.leases.acts import (
    DAY,
    NAME,
    SPACE,
    acquire,
    bound,
    form,
    grant,
    inspect,
    release,
    row,
    story,
    unbound,
)
from tests.leases.moving_time import expire, pass_time
from tests.leases.outside import outside
from tests.leases.test_group_blockers import waited_for

pytestmark = pytest.mark.usefixtures("database")

ADA = ("key:ada", "user:ci")
BOB = ("key:bob", "user:deploy")


def by(entries: tuple[str, str], *acl: str) -> Access:
    return Access(entries=entries, acl=acl or None)


def leave(*acl: str) -> None:
    engine.set_acl(SPACE, NAME, acl, capability=None)


def left() -> list[str] | None:
    return engine.describe(SPACE, NAME).acl


class TestAnAcl:
    def test_lets_those_acquire_whom_it_lists_by_key_or_by_name(self) -> None:
        leave("key:ada", "user:deploy")
        for entries in (ADA, BOB):
            release(grant(access=by(entries)))

    def test_refuses_everybody_else(self) -> None:
        leave("key:ada")
        for access in (by(BOB), by(("key:ad", "user:ada")), by(("key:adam", "user:key:ada")), None):
            assert acquire(access=access) == Refused()
        assert isinstance(inspect(), Vacant)

    def test_refuses_also_while_somebody_holds(self) -> None:
        leave("key:ada")
        grant(access=by(ADA))
        assert acquire(access=by(BOB)) == Refused()
        assert isinstance(acquire(access=by(ADA)), Held)

    def test_of_nobody_refuses_all(self) -> None:
        engine.set_acl(SPACE, NAME, [], capability=None)
        assert left() == []
        assert acquire(access=by(ADA)) == Refused()

    def test_outlives_the_term(self) -> None:
        release(grant(access=by(ADA, "key:ada")))
        assert left() == ["key:ada"]
        assert acquire(access=by(BOB)) == Refused()
        grant(access=by(ADA))
        expire()
        assert acquire(access=by(BOB)) == Refused()

    def test_of_one_space_says_nothing_in_another(self) -> None:
        leave("key:ada")
        grant(space="elsewhere", access=by(BOB))

    def test_that_comes_while_one_waits_refuses_it(self) -> None:
        """The take judges it under the name's lock, whatever the caller read before."""
        release(grant())
        outcome = waited_for(
            lambda execute: execute("UPDATE leases_lease SET acl = %s", (acl_text(["key:ada"]),)),
            lambda: acquire(access=by(BOB)),
        )
        assert outcome == Refused()
        assert story() == [(1, "acquired"), (2, "released")]

    def test_keeps_its_name_from_being_forgotten(self) -> None:
        leave("key:ada")
        release(grant("without"), "without")
        release(grant(access=by(ADA)))
        pass_time(3 * DAY)
        assert reaper.forget(SPACE, idle=DAY) == 1
        assert left() == ["key:ada"]

    def test_survives_a_restore(self) -> None:
        grant(access=by(ADA, "key:ada"))
        reaper.after_restore(actor="ada")
        assert acquire(access=by(BOB)) == Refused()
        grant(access=by(ADA))


class TestAnAclLeftByAnAcquire:
    def test_stays_with_a_name_that_has_none(self) -> None:
        grant(access=by(ADA, "user:ci", "key:ada", "key:ada"))
        assert left() == ["key:ada", "user:ci"]

    def test_may_leave_its_own_bearer_out(self) -> None:
        release(grant(access=by(ADA, "key:bob")))
        assert acquire(access=by(ADA)) == Refused()

    def test_that_differs_is_told(self) -> None:
        leave("key:ada", "key:bob")
        assert acquire(access=by(ADA, "key:ada")) == AclDiffers()
        assert isinstance(acquire(access=by(ADA, "key:bob", "key:ada")), Granted)

    def test_that_differs_is_told_also_while_somebody_holds(self) -> None:
        grant(access=by(ADA, "key:ada"))
        assert acquire(access=by(ADA, "key:bob", "key:ada")) == AclDiffers()

    def test_is_told_only_to_whom_it_lists(self) -> None:
        leave("key:ada")
        assert acquire(access=by(BOB, "key:bob")) == Refused()

    def test_is_not_left_by_a_loser(self) -> None:
        grant()
        assert isinstance(acquire(access=by(ADA, "key:ada")), Held)
        assert left() is None

    def test_is_not_left_by_a_group_that_has_the_name_already(self) -> None:
        form()
        grant(group=unbound(), access=by(ADA))
        grant(group=unbound(), access=by(ADA, "key:ada"))
        assert left() is None

    def test_bars_a_group_from_acquiring_again_but_not_from_what_it_has(self) -> None:
        form()
        granted = grant(group=bound(), access=by(ADA))
        leave("key:bob")
        assert acquire(group=bound(), access=by(ADA)) == Refused()
        release(granted)

    def test_does_not_keep_an_attempt_from_its_term(self) -> None:
        granted = grant(attempt="attempt", access=by(ADA))
        leave("key:bob")
        assert grant(attempt="attempt", access=by(ADA)).capability == granted.capability


class TestSetting:
    def test_by_the_holder(self) -> None:
        granted = grant()
        engine.set_acl(SPACE, NAME, ["key:ada"], capability=granted.capability)
        assert left() == ["key:ada"]
        engine.set_acl(SPACE, NAME, None, capability=granted.capability)
        assert left() is None

    @pytest.mark.parametrize("end", ["released", "expired", "wrong"])
    def test_not_by_who_holds_no_more(self, end: str) -> None:
        granted = grant()
        capability = "A" * 43 if end == "wrong" else granted.capability
        if end == "released":
            release(granted)
        if end == "expired":
            expire()
        with pytest.raises(NotCurrent) as refused:
            engine.set_acl(SPACE, NAME, ["key:ada"], capability=capability)
        assert refused.value.ending == {"released": Ending.RELEASED, "expired": Ending.EXPIRED, "wrong": None}[end]
        assert left() is None

    def test_of_a_name_nobody_held_leaves_no_term(self) -> None:
        leave("key:ada")
        assert (row().term, row().events, row().ended_at is None) == (0, 0, False)
        state = engine.describe(SPACE, NAME).state
        assert isinstance(state, Vacant)
        assert state.last is None

    def test_to_nothing_of_a_name_nobody_held_leaves_no_row(self) -> None:
        engine.set_acl(SPACE, NAME, None, capability=None)
        assert not Lease.objects.exists()

    def test_moves_neither_deadline_nor_count(self) -> None:
        granted = grant()
        leave("key:ada")
        assert (row().expires_at, row().events) == (granted.hold.expires_at, 1)

    @pytest.mark.only("postgresql")
    def test_with_a_wrong_capability_takes_no_lock(self) -> None:
        grant()
        with outside() as execute:
            execute("BEGIN", ())
            execute("SELECT 1 FROM leases_lease FOR UPDATE", ())
            with pytest.raises(NotCurrent):
                engine.set_acl(SPACE, NAME, ["key:ada"], capability="A" * 43)
            execute("COMMIT", ())


TRICKY = [
    'user:a"',
    "user:a\\",
    'user:a\\"',
    "user:a\nuser:b",
    'user:a", "user:b',
    '"\n"user:b',
    "user:a\r\x85\u2028user:b",
    "user:%",
    "user:_",
    "user:ä",
    "user:a,",
]


class TestTrickyNames:
    @pytest.mark.parametrize("mine", TRICKY)
    def test_match_themselves_alone(self, mine: str) -> None:
        leave(mine, "key:0")
        assert left() == sorted(["key:0", mine])
        for other in [*TRICKY, "user:a", "user:b", "user:", ""]:
            outcome = acquire(access=by(("key:1", other)))
            assert isinstance(outcome, Granted) == (other == mine), other
            if isinstance(outcome, Granted):
                release(outcome)

    @pytest.mark.parametrize("other", TRICKY)
    def test_are_no_way_into_a_list_of_others(self, other: str) -> None:
        leave("user:a", "user:b", "key:0")
        assert acquire(access=by(("key:1", other))) == Refused()

    @pytest.mark.parametrize("entries", [[], ["user:a"], TRICKY], ids=len)
    def test_come_back_as_they_were(self, entries: list[str]) -> None:
        assert acl_entries(acl_text(entries)) == sorted(entries)
        assert acl_entries(None) is None
