"""Bound terms: each ends at the earlier of its own deadline and its group's, and with it at once."""

from __future__ import annotations

from collections.abc import Callable
from datetime import timedelta

import pytest

from octostore.leases import engine, history, reaper
from octostore.leases.errors import NotCurrent
from octostore.leases.models import Ending, Lease, LeaseGroup
from octostore.leases.outcomes import Alive, Delayed, GroupOver, Held, Vacant
from tests.leases.acts import (
    GROUP,
    MINUTE,
    NAME,
    SECOND,
    SPACE,
    acquire,
    bound,
    dissolve,
    form,
    grant,
    group_row,
    inspect,
    keep,
    recorded,
    release,
    renew,
    row,
    settle,
    story,
    unbound,
)
from tests.leases.moving_time import age, age_group, expire, expire_group
from tests.leases.nudges import nudges

pytestmark = pytest.mark.usefixtures("database")


def refused(act: Callable[[], object]) -> Ending | None:
    with pytest.raises(NotCurrent) as told:
        act()
    return told.value.ending


class TestTheDeadline:
    def test_is_the_groups_where_that_is_earlier(self) -> None:
        formed = form(ttl=MINUTE)
        granted = grant(group=bound(), ttl=10 * MINUTE)
        assert granted.hold.expires_at == formed.expires_at
        assert granted.remaining <= MINUTE
        assert granted.hold.ttl == 10 * MINUTE

    def test_is_its_own_where_that_is_earlier(self) -> None:
        form(ttl=10 * MINUTE)
        granted = grant(group=bound(), ttl=MINUTE)
        assert granted.remaining == MINUTE

    def test_is_told_by_every_answer(self) -> None:
        formed = form()
        granted = grant(group=bound(), ttl=10 * MINUTE)
        state = inspect()
        assert isinstance(state, Held)
        assert granted.hold.bound
        assert state.hold.bound
        assert state.hold.expires_at == formed.expires_at

    def test_moves_with_a_keepalive(self) -> None:
        form()
        grant(group=bound(), ttl=10 * MINUTE)
        age_group(MINUTE / 2)
        kept = keep()
        assert isinstance(kept, Alive)
        assert row().expires_at == kept.expires_at

    def test_moves_with_a_keepalive_no_further_than_its_own(self) -> None:
        form()
        granted = grant(group=bound(), ttl=MINUTE + 5 * SECOND)
        age_group(MINUTE / 2)
        keep()
        assert row().expires_at == granted.hold.began_at + 35_000

    def test_of_many_moves_with_one_keepalive_and_of_others_not(self) -> None:
        form()
        form("worker-8")
        for number in range(30):
            grant(f"mine-{number}", group=bound(), ttl=10 * MINUTE)
        grant("unbound", group=unbound(), ttl=10 * MINUTE)
        grant("theirs", group=bound("worker-8"), ttl=10 * MINUTE)
        before = dict(Lease.objects.values_list("name", "expires_at"))
        age_group(MINUTE / 2)
        kept = keep()
        assert isinstance(kept, Alive)
        after = dict(Lease.objects.values_list("name", "expires_at"))
        assert {after[name] for name in after if name.startswith("mine")} == {kept.expires_at}
        assert after["unbound"] == before["unbound"] - 30_000
        assert after["theirs"] == before["theirs"]

    def test_is_no_event_and_no_renewal_when_a_keepalive_moves_it(self) -> None:
        form()
        grant(group=bound())
        keep()
        assert story() == [(1, "acquired")]
        assert row().renewals == 0

    def test_stays_where_it_was_when_it_has_passed(self) -> None:
        form(ttl=10 * MINUTE)
        grant(group=bound(), ttl=MINUTE)
        expire()
        overdue = row().expires_at
        keep()
        assert row().expires_at == overdue
        assert isinstance(inspect(), Vacant)


class TestARenewal:
    def test_never_goes_beyond_the_groups_deadline(self) -> None:
        formed = form()
        granted = grant(group=bound(), ttl=10 * SECOND)
        renewed = renew(granted, ttl=10 * MINUTE)
        assert renewed.hold.expires_at == formed.expires_at
        assert renewed.remaining <= MINUTE
        assert (renewed.hold.renewals, renewed.hold.ttl) == (1, 10 * MINUTE)

    def test_lets_the_next_keepalive_go_on(self) -> None:
        form()
        granted = grant(group=bound(), ttl=10 * SECOND)
        renew(granted, ttl=10 * MINUTE)
        kept = keep()
        assert isinstance(kept, Alive)
        assert row().expires_at == kept.expires_at

    def test_may_shorten(self) -> None:
        form()
        granted = grant(group=bound(), ttl=10 * MINUTE)
        assert renew(granted, ttl=SECOND).remaining == SECOND
        keep()
        assert row().expires_at == row().own_expires_at

    def test_without_a_ttl_is_for_the_terms_own(self) -> None:
        form(ttl=10 * MINUTE)
        granted = grant(group=bound(), ttl=MINUTE)
        age(MINUTE / 2)
        assert renew(granted).remaining == MINUTE

    def test_with_a_wrong_capability_is_refused(self) -> None:
        form()
        grant(group=bound())
        before = Lease.objects.values().get()
        assert refused(lambda: engine.renew(SPACE, NAME, capability="A" * 43)) is None
        assert Lease.objects.values().get() == before


class TestAcquiringAgain:
    def test_grows_no_further_than_the_group(self) -> None:
        formed = form()
        first = grant(group=bound(), ttl=10 * SECOND)
        again = grant(group=bound(), ttl=10 * MINUTE)
        assert (again.hold.term, again.hold.expires_at) == (first.hold.term, formed.expires_at)
        age_group(MINUTE / 2)
        kept = keep()
        assert isinstance(kept, Alive)
        assert row().expires_at == kept.expires_at

    def test_leaves_it_bound_whatever_is_asked(self) -> None:
        form()
        grant(group=bound(), ttl=10 * SECOND)
        again = grant(group=unbound(), ttl=10 * MINUTE)
        assert again.hold.bound
        assert again.remaining <= MINUTE

    def test_leaves_an_unbound_term_unbound(self) -> None:
        form()
        grant(group=unbound(), ttl=10 * SECOND)
        again = grant(group=bound(), ttl=10 * MINUTE)
        assert not again.hold.bound
        assert again.remaining == 10 * MINUTE


class TestADissolvedGroup:
    def test_releases_what_is_bound_to_it_in_the_same_instant(self) -> None:
        form()
        granted = grant(group=bound())
        dissolve()
        event = recorded()[-1]
        assert (event.n, event.kind, event.at, event.reason) == (2, "released", group_row().ended_at, "left")
        assert (event.term, event.group_id) == (granted.hold.term, GROUP)
        assert (row().ended_at, row().ending) == (group_row().ended_at, "released")
        assert history.terms(SPACE, NAME, limit=1)[0].reason == "left"

    def test_runs_no_delay(self) -> None:
        form()
        grant(group=bound(), delay=MINUTE)
        dissolve()
        grant()

    def test_is_told_of_every_name_that_was_bound(self) -> None:
        form()
        form("worker-8")
        for name in ("one", "two"):
            grant(name, group=bound())
        grant("unbound", group=unbound())
        grant("theirs", group=bound("worker-8"))
        release(grant("gone", group=bound()), "gone")
        with nudges() as told:
            dissolve()
        assert sorted(told) == [(SPACE, "one", False), (SPACE, "two", False)]
        assert {name for name in ("one", "two", "unbound", "theirs") if isinstance(inspect(name), Held)} == {
            "unbound",
            "theirs",
        }

    def test_refuses_the_holder_of_what_was_bound(self) -> None:
        form()
        granted = grant(group=bound())
        dissolve()
        assert refused(lambda: renew(granted)) is Ending.RELEASED
        assert refused(lambda: release(granted)) is Ending.RELEASED

    def test_leaves_a_term_that_had_expired_to_expire(self) -> None:
        form(ttl=10 * MINUTE)
        grant(group=bound(), ttl=MINUTE, delay=MINUTE)
        expire()
        dissolve()
        assert isinstance(settle(), Delayed)
        assert story() == [(1, "acquired"), (2, "expired")]


class TestAGroupPastItsDeadline:
    def test_frees_what_is_bound_to_it_without_any_sweep(self) -> None:
        form()
        first = grant(group=bound(), ttl=10 * MINUTE)
        expire_group()
        assert isinstance(inspect(), Vacant)
        assert grant().hold.term > first.hold.term
        assert story() == [(1, "acquired"), (2, "expired"), (3, "acquired")]

    def test_ends_it_at_the_groups_deadline(self) -> None:
        form()
        grant(group=bound(), ttl=10 * MINUTE)
        expire_group(ago=MINUTE)
        deadline = group_row().expires_at
        settle()
        assert (row().ended_at, recorded()[-1].at, recorded()[-1].expires_at) == (deadline,) * 3

    def test_runs_the_delay_from_the_groups_deadline(self) -> None:
        form()
        grant(group=bound(), ttl=10 * MINUTE, delay=MINUTE)
        expire_group(ago=30 * SECOND)
        outcome = acquire()
        assert isinstance(outcome, Delayed)
        assert outcome.available_at == group_row().expires_at + 60_000
        age_group(30 * SECOND)
        grant()

    def test_refuses_renewal_release_and_acquiring_again(self) -> None:
        form()
        granted = grant(group=bound(), ttl=10 * MINUTE)
        expire_group()
        assert refused(lambda: renew(granted)) is Ending.EXPIRED
        assert refused(lambda: release(granted)) is Ending.EXPIRED
        assert isinstance(acquire(group=bound()), GroupOver)
        assert story() == [(1, "acquired"), (2, "expired")]

    def test_is_not_brought_back_by_a_keepalive(self) -> None:
        form()
        grant(group=bound(), ttl=10 * MINUTE)
        expire_group()
        assert isinstance(keep(), GroupOver)
        assert isinstance(inspect(), Vacant)

    def test_is_swept_with_what_is_bound_to_it(self) -> None:
        form()
        grant(group=bound(), ttl=10 * MINUTE)
        expire_group()
        assert reaper.sweep() == 1
        assert story() == [(1, "acquired"), (2, "expired")]
        assert not LeaseGroup.objects.filter(ended_at=None).exists()

    def test_lets_another_group_have_its_leases(self) -> None:
        form()
        form("worker-8")
        grant(group=bound(), ttl=10 * MINUTE)
        expire_group()
        granted = grant(group=bound("worker-8"), ttl=10 * MINUTE)
        assert granted.hold.expires_at == group_row("worker-8").expires_at
        dissolve()
        assert isinstance(inspect(), Held)


class TestAShortFirstTerm:
    def test_of_a_bound_grant_is_the_shortest_of_all(self) -> None:
        form()
        granted = grant(group=bound(), ttl=10 * MINUTE, first_ttl=10 * SECOND)
        assert granted.remaining == timedelta(seconds=10)
        assert renew(granted).hold.expires_at == group_row().expires_at
