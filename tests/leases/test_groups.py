"""Groups: holders of many leases that live as long as they say so, and stay dead once they are."""

from __future__ import annotations

from collections.abc import Callable
from datetime import timedelta

import pytest

from octostore.leases import groups, reaper
from octostore.leases.models import Lease, LeaseGroup
from octostore.leases.outcomes import Alive, Granted, GroupOver, GroupUnknown, Held, Vacant
from tests.leases.acts import (
    DAY,
    GROUP,
    MINUTE,
    SPACE,
    acquire,
    bound,
    dissolve,
    form,
    grant,
    group_row,
    inspect,
    keep,
    look,
    renew,
    row,
    story,
    unbound,
)
from tests.leases.moving_time import age_group, expire_group
from tests.leases.test_lost_connection import postgresql, reply_lost
from tests.leases.threads import together
from tests.players import now_ms

pytestmark = pytest.mark.usefixtures("database")

VERBS: dict[str, Callable[[], object]] = {
    "keep": keep,
    "dissolve": dissolve,
    "look": look,
    "acquire": lambda: acquire(group=unbound()),
    "acquire bound": lambda: acquire(group=bound()),
}
every_verb = pytest.mark.parametrize("verb", VERBS.values(), ids=VERBS)


class TestForming:
    def test_begins_a_group_for_its_ttl(self) -> None:
        formed = groups.form(SPACE, GROUP, ttl=MINUTE, charged_to="ada")
        assert (formed.key, formed.charged_to, formed.ttl) == (GROUP, "ada", MINUTE)
        assert formed.expires_at - formed.began_at == 60_000
        assert MINUTE - timedelta(seconds=1) < formed.remaining <= MINUTE
        assert isinstance(look(), Alive)

    def test_of_a_key_of_another_space_is_refused_and_tells_nothing(self) -> None:
        form(space="elsewhere")
        with pytest.raises(ValueError, match="another space"):
            form()
        assert look() == GroupUnknown()

    @postgresql
    def test_whose_reply_is_lost_is_recognised(self) -> None:
        with reply_lost("INSERT INTO leases_leasegroup"):
            formed = form()
        assert LeaseGroup.objects.get().expires_at == formed.expires_at


class TestAKeepalive:
    def test_lets_the_group_live_for_its_ttl_from_now(self) -> None:
        form()
        age_group(MINUTE / 2)
        kept = keep()
        assert isinstance(kept, Alive)
        assert kept.remaining == MINUTE
        assert kept.expires_at == group_row().expires_at

    def test_says_when_the_group_began(self) -> None:
        formed = form()
        kept = keep()
        assert isinstance(kept, Alive)
        assert (kept.id, kept.began_at) == (formed.id, formed.began_at)

    def test_of_many_threads_keeps_it(self) -> None:
        form()
        assert {type(outcome) for outcome in together(10, lambda _: keep())} == {Alive}

    @postgresql
    def test_whose_reply_is_lost_is_given_again(self) -> None:
        form()
        with reply_lost("kept AS"):
            assert isinstance(keep(), Alive)


class TestDissolving:
    def test_ends_the_group_at_once(self) -> None:
        form()
        assert isinstance(dissolve(), Alive)
        assert (group_row().ending, group_row().expires_at > (group_row().ended_at or 0)) == ("released", True)

    def test_twice_is_over(self) -> None:
        form()
        dissolve()
        outcome = dissolve()
        assert outcome == GroupOver(key=GROUP, ended_at=group_row().ended_at or 0)

    def test_of_many_threads_ends_it_once(self) -> None:
        form()
        grant(group=bound())
        outcomes = together(10, lambda _: dissolve())
        assert sorted(type(outcome).__name__ for outcome in outcomes) == ["Alive"] + ["GroupOver"] * 9
        assert story() == [(1, "acquired"), (2, "released")]


class TestAnOverdueGroup:
    @every_verb
    def test_is_over_for_every_verb(self, verb: Callable[[], object]) -> None:
        form()
        expire_group(ago=MINUTE)
        deadline = group_row().expires_at
        assert verb() == GroupOver(key=GROUP, ended_at=deadline)
        assert (group_row().ended_at, group_row().ending) == (deadline, "expired")

    def test_is_taken_at_its_last_millisecond_for_over(self) -> None:
        form()
        LeaseGroup.objects.update(expires_at=now_ms())
        assert isinstance(look(), GroupOver)

    @every_verb
    def test_stays_over_when_the_clock_steps_back(self, verb: Callable[[], object]) -> None:
        form()
        expire_group()
        look()
        age_group(-MINUTE)
        assert isinstance(verb(), GroupOver)

    def test_is_marked_by_a_sweep(self) -> None:
        form()
        form("living")
        expire_group(ago=MINUTE)
        deadline = group_row().expires_at
        reaper.sweep()
        assert (group_row().ended_at, group_row().ending) == (deadline, "expired")
        assert group_row("living").ended_at is None

    def test_is_marked_in_batches(self, monkeypatch: pytest.MonkeyPatch) -> None:
        monkeypatch.setattr(reaper, "BATCH", 2)
        for key in "abcde":
            form(key)
            expire_group(key)
        reaper.sweep()
        assert not LeaseGroup.objects.filter(ended_at=None).exists()


class TestAnotherSpacesGroup:
    @every_verb
    def test_is_unknown_to_every_verb(self, verb: Callable[[], object]) -> None:
        form(space="elsewhere")
        before = LeaseGroup.objects.values().get()
        assert verb() == GroupUnknown()
        assert LeaseGroup.objects.values().get() == before

    @every_verb
    def test_is_no_more_known_when_it_is_over(self, verb: Callable[[], object]) -> None:
        form(space="elsewhere")
        expire_group()
        assert verb() == GroupUnknown()
        assert group_over("elsewhere") is False

    def test_keeps_its_leases_whatever_is_asked_elsewhere(self) -> None:
        form(space="elsewhere")
        grant(space="elsewhere", group=bound())
        before = Lease.objects.values().get()
        for verb in VERBS.values():
            verb()
        assert list(Lease.objects.values()) == [before]


def group_over(space: str) -> bool:
    return LeaseGroup.objects.get(space=space).ended_at is not None


class TestWhatAGroupAcquires:
    def test_is_its_own_to_acquire_again(self) -> None:
        form()
        first = grant(group=unbound(), metadata="m")
        again = grant(group=unbound(), metadata="other", holder="other")
        assert (again.hold.term, again.capability) == (first.hold.term, first.capability)
        assert (again.hold.metadata, again.hold.holder) == ("m", "atlas")
        assert not again.replayed
        assert story() == [(1, "acquired")]

    def test_again_moves_the_deadline_only_forward(self) -> None:
        form()
        first = grant(group=unbound(), ttl=MINUTE)
        assert grant(group=unbound(), ttl=MINUTE / 2).hold.expires_at == first.hold.expires_at
        longer = grant(group=unbound(), ttl=2 * MINUTE)
        assert longer.hold.expires_at > first.hold.expires_at + 50_000
        assert longer.hold.ttl == MINUTE
        assert longer.hold.renewals == 0

    def test_is_lost_to_another_group_and_to_nobody_in_particular(self) -> None:
        form()
        form("worker-8")
        granted = grant(group=unbound())
        for outcome in (acquire(group=unbound("worker-8")), acquire(group=bound("worker-8")), acquire()):
            assert isinstance(outcome, Held)
            assert (outcome.hold.term, outcome.hold.group_id) == (granted.hold.term, GROUP)

    def test_by_many_threads_is_one_term(self) -> None:
        form()
        outcomes = together(20, lambda _: grant(group=unbound()))
        assert len({(granted.hold.term, granted.capability) for granted in outcomes}) == 1
        assert story() == [(1, "acquired")]

    def test_is_renewed_and_released_by_its_capability(self) -> None:
        form()
        granted = grant(group=unbound())
        assert renew(granted, ttl=2 * MINUTE).remaining == 2 * MINUTE

    def test_lives_on_by_its_own_ttl_when_it_is_not_bound(self) -> None:
        form()
        granted = grant(group=unbound())
        dissolve()
        assert isinstance(inspect(), Held)
        assert renew(granted, ttl=2 * MINUTE).remaining == 2 * MINUTE

    def test_can_be_taken_by_another_group_once_it_is_over(self) -> None:
        form()
        first = grant(group=bound())
        dissolve()
        form("worker-8")
        assert grant(group=bound("worker-8")).hold.term > first.hold.term
        assert row().group_id == "worker-8"


class TestAnAttemptOfAGroup:
    def test_is_known_while_its_term_lives(self) -> None:
        form()
        first = grant(group=unbound(), attempt="attempt")
        assert grant(group=unbound(), attempt="attempt").replayed
        assert grant(group=unbound(), attempt="attempt").capability == first.capability

    def test_is_known_even_when_the_group_is_over_and_the_term_is_not(self) -> None:
        form()
        grant(group=unbound(), attempt="attempt")
        dissolve()
        outcome = acquire(group=unbound(), attempt="attempt")
        assert isinstance(outcome, Granted)
        assert outcome.replayed

    def test_of_a_bound_term_tells_what_is_left_of_it(self) -> None:
        form()
        grant(group=bound(), ttl=10 * MINUTE, attempt="attempt")
        age_group(MINUTE / 2)
        again = grant(group=bound(), ttl=10 * MINUTE, attempt="attempt")
        assert again.replayed
        assert again.remaining <= MINUTE / 2

    def test_that_is_new_extends_what_the_group_holds(self) -> None:
        form()
        first = grant(group=unbound(), attempt="attempt")
        again = grant(group=unbound(), attempt="another", ttl=2 * MINUTE)
        assert again.capability == first.capability
        assert again.hold.expires_at > first.hold.expires_at


class TestForgetting:
    def test_takes_groups_that_ended_long_ago(self) -> None:
        form()
        dissolve()
        form("overdue")
        form("living")
        age_group(2 * DAY)
        age_group(2 * DAY, "overdue")
        assert reaper.forget_groups(idle=DAY) == 1
        assert set(LeaseGroup.objects.values_list("key", flat=True)) == {"overdue", "living"}
        assert look() == GroupUnknown()

    def test_leaves_the_leases_of_a_forgotten_group_alone(self) -> None:
        form()
        granted = grant(group=unbound())
        dissolve()
        age_group(2 * DAY)
        Lease.objects.update(expires_at=10**15)
        reaper.forget_groups(idle=DAY)
        renew(granted)
        assert row().group_id == GROUP


class TestARestore:
    def test_ends_every_group(self) -> None:
        form()
        granted = grant(group=bound())
        reaper.after_restore(actor="ada")
        assert isinstance(keep(), GroupOver)
        assert group_row().ending == "revoked"
        assert isinstance(inspect(), Vacant)
        assert grant().hold.term > granted.hold.term
