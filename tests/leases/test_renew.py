"""Renew: the right capability of a live term moves the deadline, and nothing else does."""

from __future__ import annotations

from datetime import timedelta

import pytest

from octostore.leases import engine
from octostore.leases.errors import NotCurrent
from octostore.leases.models import Ending, Lease
from octostore.leases.outcomes import Held
from tests.leases.acts import MINUTE, NAME, SECOND, SPACE, acquire, grant, inspect, release, renew, row, settle, story
from tests.leases.moving_time import age, expire
from tests.players import now_ms

pytestmark = pytest.mark.usefixtures("database")

WRONG = {
    "empty": "",
    "short": "x",
    "well-formed": "A" * 43,
    "accented": "\u00e9",
    "huge": "A" * 100_000,
    "quoted": "'; --",
}


class TestALiveTerm:
    def test_gets_its_own_ttl_from_now(self) -> None:
        granted = grant(ttl=MINUTE)
        age(MINUTE / 2)
        before = now_ms()
        renewed = renew(granted)
        assert renewed.remaining == MINUTE
        assert before + 60_000 <= renewed.hold.expires_at <= now_ms() + 60_000

    def test_keeps_term_capability_and_beginning(self) -> None:
        granted = grant(metadata="m")
        renewed = renew(granted)
        assert renewed.capability == granted.capability
        assert (renewed.hold.term, renewed.hold.began_at) == (granted.hold.term, granted.hold.began_at)
        assert renewed.hold.metadata == "m"

    def test_counts_renewals_and_records_no_event(self) -> None:
        granted = grant()
        assert [renew(granted).hold.renewals for _ in range(3)] == [1, 2, 3]
        assert story() == [(1, "acquired")]
        assert row().events == 1

    def test_may_be_made_longer(self) -> None:
        assert renew(grant(ttl=MINUTE), ttl=2 * MINUTE).remaining == 2 * MINUTE

    def test_may_be_made_shorter(self) -> None:
        renewed = renew(grant(ttl=MINUTE), ttl=SECOND)
        assert renewed.remaining == SECOND
        outcome = inspect()
        assert isinstance(outcome, Held)
        assert outcome.remaining <= SECOND

    def test_keeps_the_ttl_it_was_last_given(self) -> None:
        granted = grant(ttl=MINUTE)
        renew(granted, ttl=2 * MINUTE)
        renewed = renew(granted)
        assert (renewed.remaining, renewed.hold.ttl) == (2 * MINUTE, 2 * MINUTE)

    def test_keeps_a_rival_out_for_the_new_ttl(self) -> None:
        granted = grant(ttl=MINUTE)
        renew(granted, ttl=3 * MINUTE)
        age(2 * MINUTE)
        assert isinstance(acquire(), Held)

    def test_can_be_renewed_in_its_last_moments(self) -> None:
        granted = grant()
        age(MINUTE - SECOND)
        assert renew(granted).remaining == MINUTE

    def test_may_last_for_millennia(self) -> None:
        assert renew(grant(), ttl=timedelta.max / 3).remaining > timedelta(days=365 * 1000)


class TestAWrongCapability:
    @pytest.mark.parametrize("wrong", WRONG.values(), ids=WRONG)
    def test_is_refused_and_changes_nothing(self, wrong: str) -> None:
        grant()
        before = Lease.objects.values().get()
        with pytest.raises(NotCurrent) as refused:
            engine.renew(SPACE, NAME, capability=wrong)
        assert refused.value.ending is None
        assert Lease.objects.values().get() == before

    def test_is_refused_for_a_name_nobody_held(self) -> None:
        with pytest.raises(NotCurrent) as refused:
            engine.renew(SPACE, "never", capability="A" * 43)
        assert refused.value.ending is None
        assert not Lease.objects.exists()

    def test_is_that_of_another_name(self) -> None:
        grant("one")
        two = grant("two")
        with pytest.raises(NotCurrent):
            renew(two, "one")

    def test_is_that_of_another_space(self) -> None:
        grant()
        elsewhere = grant(space="elsewhere")
        with pytest.raises(NotCurrent):
            renew(elsewhere)

    def test_is_the_right_one_in_other_letters(self) -> None:
        granted = grant()
        for altered in (granted.capability.swapcase(), granted.capability + " ", granted.capability + "="):
            with pytest.raises(NotCurrent):
                engine.renew(SPACE, NAME, capability=altered)


class TestAnEndedTerm:
    def test_is_not_revived_after_its_deadline_though_nobody_came(self) -> None:
        granted = grant()
        expire()
        with pytest.raises(NotCurrent) as refused:
            renew(granted)
        assert refused.value.ending is Ending.EXPIRED
        assert refused.value.extra == {"ended": "expired"}

    def test_is_marked_when_its_holder_is_told(self) -> None:
        granted = grant()
        expire()
        with pytest.raises(NotCurrent):
            renew(granted)
        assert story() == [(1, "acquired"), (2, "expired")]
        age(-MINUTE)
        with pytest.raises(NotCurrent) as refused:
            renew(granted)
        assert refused.value.ending is Ending.EXPIRED

    def test_is_not_revived_after_a_sweep(self) -> None:
        granted = grant()
        expire()
        settle()
        with pytest.raises(NotCurrent) as refused:
            renew(granted)
        assert refused.value.ending is Ending.EXPIRED

    def test_is_not_revived_after_its_release(self) -> None:
        granted = grant()
        release(granted)
        with pytest.raises(NotCurrent) as refused:
            renew(granted)
        assert refused.value.ending is Ending.RELEASED
        assert refused.value.extra == {"ended": "released"}

    def test_is_not_revived_after_its_removal(self) -> None:
        granted = grant()
        engine.revoke(SPACE, NAME, term=granted.hold.term, reason="why", actor="who")
        with pytest.raises(NotCurrent) as refused:
            renew(granted)
        assert refused.value.ending is Ending.REVOKED
        assert refused.value.extra == {"ended": "removed"}

    def test_does_not_touch_who_came_after(self) -> None:
        granted = grant()
        expire()
        grant(holder="borea")
        before = Lease.objects.values().get()
        with pytest.raises(NotCurrent) as refused:
            renew(granted)
        assert refused.value.ending is None
        assert Lease.objects.values().get() == before

    def test_is_over_also_after_others_came_and_went(self) -> None:
        granted = grant()
        expire()
        release(grant(holder="borea"))
        with pytest.raises(NotCurrent) as refused:
            renew(granted)
        assert refused.value.ending is None

    def test_ends_by_a_renewal_that_left_no_time(self) -> None:
        granted = grant()
        renew(granted, ttl=timedelta(0))
        with pytest.raises(NotCurrent):
            renew(granted)
