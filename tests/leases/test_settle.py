"""Settle: look, and mark an end that is due."""

from __future__ import annotations

import pytest

from octostore.leases.models import Lease
from octostore.leases.outcomes import Delayed, Held, Vacant
from tests.leases.acts import MINUTE, grant, recorded, release, row, settle, story
from tests.leases.moving_time import age, expire
from tests.leases.threads import together

pytestmark = pytest.mark.usefixtures("database")


class TestAnOverdueTerm:
    def test_is_marked_at_its_deadline(self) -> None:
        granted = grant(holder="atlas")
        expire(ago=MINUTE)
        deadline = row().expires_at
        assert isinstance(settle(), Vacant)
        event = recorded()[-1]
        assert (event.n, event.kind, event.at, event.expires_at) == (2, "expired", deadline, deadline)
        assert (event.term, event.holder) == (granted.hold.term, "atlas")
        assert (row().ended_at, row().ending) == (deadline, "expired")

    def test_is_marked_once(self) -> None:
        grant()
        expire()
        together(10, lambda _: settle())
        assert story() == [(1, "acquired"), (2, "expired")]

    def test_stays_ended_when_the_clock_steps_back(self) -> None:
        grant()
        expire()
        settle()
        age(-MINUTE)
        assert isinstance(settle(), Vacant)

    def test_is_followed_by_its_delay(self) -> None:
        grant(delay=MINUTE)
        expire()
        assert isinstance(settle(), Delayed)


class TestAnythingElse:
    def test_a_live_term_stays_as_it_is(self) -> None:
        grant()
        before = Lease.objects.values().get()
        assert isinstance(settle(), Held)
        assert Lease.objects.values().get() == before

    def test_a_released_term_stays_as_it_is(self) -> None:
        release(grant())
        before = Lease.objects.values().get()
        assert isinstance(settle(), Vacant)
        assert Lease.objects.values().get() == before

    def test_an_unknown_name_leaves_no_row(self) -> None:
        assert isinstance(settle("never"), Vacant)
        assert not Lease.objects.exists()
