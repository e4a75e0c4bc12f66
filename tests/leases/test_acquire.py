"""Acquire: one holder, terms that rise, and what losers are told."""

from __future__ import annotations

from datetime import timedelta
from typing import Any

import pytest

from octostore.leases.clock import EPOCH
from octostore.leases.models import Lease
from octostore.leases.outcomes import Delayed, Granted, Held, Vacant
from octostore.lib.ids import is_capability
from tests.leases.acts import (
    MINUTE,
    SECOND,
    acquire,
    form,
    grant,
    inspect,
    recorded,
    release,
    renew,
    row,
    settle,
    story,
    unbound,
)
from tests.leases.moving_time import age, expire
from tests.players import now_ms

pytestmark = pytest.mark.usefixtures("database")

FAMILY = "\N{MAN}\N{ZERO WIDTH JOINER}\N{WOMAN}\N{ZERO WIDTH JOINER}\N{GIRL}"


class TestANewName:
    def test_is_granted_with_a_capability(self) -> None:
        form("g")
        granted = grant(holder="atlas", ttl=MINUTE, metadata="m", group=unbound("g"))
        assert is_capability(granted.capability)
        assert not granted.replayed
        hold = granted.hold
        assert (hold.holder, hold.metadata, hold.group_id, hold.ttl, hold.renewals) == ("atlas", "m", "g", MINUTE, 0)
        assert (hold.ended_at, hold.ending) == (None, None)

    def test_lasts_its_ttl_from_the_databases_clock(self) -> None:
        before = now_ms()
        granted = grant(ttl=MINUTE)
        assert before <= granted.hold.began_at <= now_ms()
        assert granted.hold.expires_at - granted.hold.began_at == 60_000
        assert granted.remaining == MINUTE

    def test_has_a_term_from_the_floor_of_terms(self) -> None:
        granted = grant()
        assert granted.hold.term == granted.hold.began_at - EPOCH
        assert granted.hold.term < 2**53

    def test_is_recorded_as_the_first_event_of_its_incarnation(self) -> None:
        granted = grant(holder="atlas", metadata="m")
        [event] = recorded()
        assert (event.incarnation, event.n, event.kind) == (granted.hold.term, 1, "acquired")
        assert (event.term, event.holder, event.metadata) == (granted.hold.term, "atlas", "m")
        assert (event.at, event.expires_at) == (granted.hold.began_at, granted.hold.expires_at)

    def test_belongs_to_its_space_alone(self) -> None:
        mine, theirs = grant(space="one"), grant(space="two")
        assert mine.capability != theirs.capability

    @pytest.mark.parametrize("odd", ["", " ", "a/b", "%", "_", "'; --", "{}", "%(name)s", ":now", "x" * 1024, "\r\n"])
    def test_may_be_odd(self, odd: str) -> None:
        form(odd)
        granted = grant(odd, holder=odd, metadata=odd, group=unbound(odd))
        assert (granted.hold.holder, granted.hold.metadata, granted.hold.group_id) == (odd, odd, odd)
        assert isinstance(inspect(odd), Held)
        assert isinstance(inspect(odd + "!"), Vacant)

    @pytest.mark.parametrize("text", ["\u202eevil", FAMILY, "\U0010ffff" * 64, "\x01\x7f\x85", "\ufffe"])
    def test_may_hold_any_unicode(self, text: str) -> None:
        granted = grant(text, holder=text, metadata=text)
        renewed = renew(granted, text)
        assert (renewed.hold.holder, renewed.hold.metadata) == (text, text)

    def test_keeps_metadata_of_any_size(self) -> None:
        metadata = "\N{SNOWMAN}" * 100_000
        assert grant(metadata=metadata).hold.metadata == metadata

    def test_tells_empty_metadata_from_none(self) -> None:
        assert grant("empty", metadata="").hold.metadata == ""
        assert grant("none").hold.metadata is None

    def test_may_last_for_millennia(self) -> None:
        granted = grant(ttl=timedelta.max / 3, delay=timedelta.max / 3)
        assert granted.hold.ttl > timedelta(days=365 * 1000)
        assert isinstance(inspect(), Held)
        expire()
        assert isinstance(inspect(), Delayed)


class TestNamesAreBytes:
    @pytest.mark.parametrize(("left", "right"), [("e\u0301", "\u00e9"), ("A", "a"), ("\u0430", "a"), ("n", "n ")])
    def test_equal_looks_are_different_names(self, left: str, right: str) -> None:
        assert grant(left).hold.holder == grant(right).hold.holder
        assert Lease.objects.count() == 2

    def test_names_sort_by_their_bytes(self) -> None:
        names = ["B", "a", "Z", "_", "\u00e9", "e\u0301", "\U0001f600", "\uffff", "a-b", "a b", "aB"]
        for name in names:
            grant(name)
        stored = list(Lease.objects.order_by("name").values_list("name", flat=True))
        assert stored == sorted(names, key=lambda name: name.encode())


class TestAHeldName:
    def test_is_refused_with_who_holds_it_and_for_how_long(self) -> None:
        granted = grant(holder="atlas", metadata="m")
        outcome = acquire(holder="borea")
        assert isinstance(outcome, Held)
        assert (outcome.hold.term, outcome.hold.holder, outcome.hold.metadata) == (granted.hold.term, "atlas", "m")
        assert timedelta(0) < outcome.remaining <= MINUTE
        assert (outcome.revision.incarnation, outcome.revision.n) == (granted.hold.term, 1)

    def test_is_refused_to_its_own_holder_too(self) -> None:
        grant(holder="atlas")
        assert isinstance(acquire(holder="atlas"), Held)

    def test_stays_as_it_was(self) -> None:
        grant()
        before = Lease.objects.values().get()
        acquire(holder="borea", metadata="other", ttl=2 * MINUTE)
        assert Lease.objects.values().get() == before
        assert story() == [(1, "acquired")]

    def test_is_held_until_the_last_millisecond(self) -> None:
        grant()
        age(MINUTE - SECOND)
        outcome = acquire()
        assert isinstance(outcome, Held)
        assert outcome.remaining <= SECOND


class TestAReleasedName:
    def test_goes_to_the_next_with_a_higher_term(self) -> None:
        first = grant()
        release(first)
        second = grant(holder="borea")
        assert second.hold.term > first.hold.term
        assert second.capability != first.capability
        assert story() == [(1, "acquired"), (2, "released"), (3, "acquired")]

    def test_has_rising_terms_within_one_millisecond(self) -> None:
        terms = []
        for _ in range(30):
            granted = grant()
            terms.append(granted.hold.term)
            release(granted)
        assert terms == sorted(set(terms))

    def test_has_a_higher_term_also_below_a_clock_that_ran_ahead(self) -> None:
        granted = grant()
        release(granted)
        ahead = granted.hold.term + 10**9
        Lease.objects.update(term=ahead)
        assert grant().hold.term == ahead + 1


class TestAnExpiredName:
    def test_can_be_taken_at_once_with_every_sweeper_stopped(self) -> None:
        first = grant()
        expire()
        assert grant(holder="borea").hold.term > first.hold.term

    def test_is_recorded_as_expired_at_its_deadline_before_the_grant(self) -> None:
        first = grant(holder="atlas")
        expire(ago=timedelta(hours=1))
        deadline = row().expires_at
        second = grant(holder="borea")
        _, expired, acquired = recorded()
        assert (expired.n, expired.kind, expired.at) == (2, "expired", deadline)
        assert (expired.term, expired.holder) == (first.hold.term, "atlas")
        assert (acquired.n, acquired.kind, acquired.term) == (3, "acquired", second.hold.term)
        assert row().events == 3

    def test_starts_anew(self) -> None:
        form("g")
        renew(grant(metadata="m", group=unbound("g"), delay=MINUTE))
        expire(ago=2 * MINUTE)
        hold = grant(holder="borea", ttl=2 * MINUTE).hold
        assert (hold.metadata, hold.group_id, hold.renewals, hold.ttl) == (None, None, 0, 2 * MINUTE)
        assert row().delay_ms == 0


class TestAnEndNoClockUndoes:
    """The database's clock stepped back, or a standby's runs behind: marked ends lie in the future."""

    def test_a_released_name_is_vacant(self) -> None:
        release(grant())
        age(-MINUTE)
        assert isinstance(inspect(), Vacant)
        assert isinstance(acquire(), Granted)

    def test_an_expired_name_is_vacant(self) -> None:
        grant()
        expire()
        settle()
        age(-MINUTE)
        assert isinstance(inspect(), Vacant)
        assert isinstance(acquire(), Granted)

    def test_the_next_term_is_higher(self) -> None:
        first = grant()
        release(first)
        Lease.objects.update(term=first.hold.term + 60_000)
        age(-MINUTE)
        assert grant().hold.term == first.hold.term + 60_001


class TestHooks:
    def test_a_charge_is_asked_once_for_each_acquire(self) -> None:
        asked: list[str] = []
        grant(charge=lambda: asked.append("grant"))
        acquire(charge=lambda: asked.append("loss"))
        assert asked == ["grant", "loss"]

    def test_admission_is_asked_only_where_the_name_looks_free(self) -> None:
        asked: list[str] = []
        grant(admit=lambda: asked.append("grant"))
        acquire(admit=lambda: asked.append("loss"))
        assert asked == ["grant"]

    @pytest.mark.parametrize("hook", ["charge", "admit"])
    def test_what_a_hook_raises_leaves_nothing_behind(self, hook: str) -> None:
        class Refused(Exception):
            pass

        def refuse() -> None:
            raise Refused

        hooks: dict[str, Any] = {hook: refuse}
        with pytest.raises(Refused):
            acquire(**hooks)
        assert not Lease.objects.exists()
