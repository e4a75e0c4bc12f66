"""After a restore: every lease ends, every name starts a new incarnation, no term comes twice."""

from __future__ import annotations

from io import StringIO

import pytest
from django.core.management import call_command

from octostore.leases import reaper
from octostore.leases.errors import NotCurrent
from octostore.leases.models import Ending, Lease, LeaseEvent
from octostore.leases.outcomes import AttemptOver, Vacant
from tests.leases.acts import MINUTE, NAME, acquire, grant, inspect, recorded, release, renew, row
from tests.leases.moving_time import expire

pytestmark = pytest.mark.usefixtures("database")


class TestALiveLease:
    def test_ends_and_is_counted(self) -> None:
        grant("one")
        grant("two")
        release(grant("three"), "three")
        assert reaper.after_restore(actor="ada") == 2
        assert isinstance(inspect("one"), Vacant)

    def test_is_recorded_as_removed_first_in_the_new_incarnation(self) -> None:
        granted = grant()
        reaper.after_restore(actor="ada")
        event = recorded()[-1]
        assert event.incarnation == row().incarnation > granted.hold.term
        assert (event.n, event.kind, event.term) == (1, "revoked", granted.hold.term)
        assert (event.reason, event.actor) == ("restored", "ada")
        assert row().events == 1

    def test_is_refused_to_its_holder(self) -> None:
        granted = grant()
        reaper.after_restore(actor="ada")
        with pytest.raises(NotCurrent) as refused:
            renew(granted)
        assert refused.value.ending is Ending.REVOKED

    def test_is_over_for_its_attempt(self) -> None:
        granted = grant(attempt="attempt")
        reaper.after_restore(actor="ada")
        assert acquire(attempt="attempt") == AttemptOver(term=granted.hold.term)

    def test_can_be_taken_at_once(self) -> None:
        granted = grant(delay=MINUTE)
        reaper.after_restore(actor="ada")
        assert grant().hold.term > granted.hold.term


class TestOtherNames:
    def test_an_overdue_term_expired_at_its_deadline(self) -> None:
        grant()
        expire()
        deadline = row().expires_at
        assert reaper.after_restore(actor="ada") == 0
        assert (row().ended_at, row().ending) == (deadline, "expired")

    def test_an_ended_name_starts_a_new_incarnation_without_an_event(self) -> None:
        released = release(grant())
        reaper.after_restore(actor="ada")
        assert row().incarnation > released.hold.term
        assert row().events == 0
        assert (row().ended_at, row().ending) == (released.hold.ended_at, "released")
        assert LeaseEvent.objects.count() == 2

    def test_a_second_restore_starts_another_incarnation(self) -> None:
        release(grant())
        reaper.after_restore(actor="ada")
        first = row().incarnation
        reaper.after_restore(actor="ada")
        assert row().incarnation > first

    def test_counts_go_on_from_one(self) -> None:
        grant()
        reaper.after_restore(actor="ada")
        incarnation = row().incarnation
        release(grant())
        assert [(e.incarnation, e.n) for e in recorded()][1:] == [(incarnation, n) for n in (1, 2, 3)]


class TestWhatTheBackupForgot:
    def test_never_comes_again(self) -> None:
        kept = grant("kept")
        release(grant())
        backup = Lease.objects.filter(name=NAME).values().get()
        events = set(LeaseEvent.objects.values_list("pk", flat=True))
        forgotten = [grant(holder="borea")]
        release(forgotten[0])
        forgotten.append(grant(holder="cirro"))
        seen = inspect().revision

        Lease.objects.filter(name=NAME).update(**backup)
        LeaseEvent.objects.exclude(pk__in=events).delete()
        reaper.after_restore(actor="ada")

        for lost in forgotten:
            with pytest.raises(NotCurrent):
                renew(lost)
        with pytest.raises(NotCurrent):
            renew(kept, "kept")
        after = grant()
        assert after.hold.term > max(lost.hold.term for lost in forgotten)
        assert after.capability not in {lost.capability for lost in forgotten}
        assert inspect().revision.incarnation > seen.incarnation


class TestTheCommand:
    @pytest.mark.parametrize(("live", "said"), [(0, "Ended 0 live leases"), (1, "Ended 1 live lease;"), (2, "2 live")])
    def test_says_how_many_ended(self, live: int, said: str) -> None:
        for number in range(live):
            grant(str(number))
        out = StringIO()
        call_command("after_restore", "--actor", "ada", stdout=out)
        assert said in out.getvalue()
        assert set(LeaseEvent.objects.filter(kind="revoked").values_list("actor", flat=True)) <= {"ada"}
