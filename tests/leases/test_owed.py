"""Events owed to whoever follows a space: none lost, none twice, whatever commits when."""

from __future__ import annotations

from datetime import timedelta

import pytest
from django.db import transaction

from octostore.leases import engine, owed, reaper
from octostore.leases.errors import NotCurrent
from octostore.leases.models import LeaseEvent, OwedEvent
from tests.leases.acts import MINUTE, NAME, SPACE, bound, dissolve, form, grant, recorded, release, renew
from tests.leases.moving_time import expire
from tests.leases.outside import outside
from tests.leases.threads import together

pytestmark = pytest.mark.usefixtures("database")


def handed_over() -> list[OwedEvent]:
    """All that is owed, taken over."""
    taken: list[OwedEvent] = []
    while owed.hand_over(taken.extend):
        pass
    return taken


def told() -> list[tuple[str, str, int | None]]:
    return [(event.name, event.kind, event.n) for event in handed_over()]


class TestASpaceNobodyFollows:
    def test_owes_nothing(self) -> None:
        owed.follow("other", renewals=True)
        release(renew(grant()))
        assert told() == []

    def test_owes_nothing_from_when_it_is_followed_no_more(self) -> None:
        owed.follow(SPACE, renewals=True)
        granted = grant()
        owed.unfollow(SPACE)
        release(granted)
        assert told() == [(NAME, "acquired", 1)]


class TestAFollowedSpace:
    @pytest.fixture(autouse=True)
    def followed(self, database: None) -> None:
        owed.follow(SPACE, renewals=False)

    def test_owes_each_event_once_in_order(self) -> None:
        release(grant())
        grant()
        assert told() == [(NAME, "acquired", 1), (NAME, "released", 2), (NAME, "acquired", 3)]
        assert told() == []

    def test_owes_what_the_event_says(self) -> None:
        granted = grant(holder="atlas")
        (event,) = handed_over()
        (record,) = recorded()
        assert event.at == record.at
        assert (event.term, event.holder, event.expires_at) == (granted.hold.term, "atlas", granted.hold.expires_at)
        assert (event.incarnation, event.n) == (record.incarnation, record.n)

    def test_a_takeover_owes_the_end_and_the_beginning(self) -> None:
        grant()
        expire()
        grant()
        assert told() == [(NAME, "acquired", 1), (NAME, "expired", 2), (NAME, "acquired", 3)]

    def test_the_sweep_owes_the_end_at_its_deadline(self) -> None:
        grant()
        expire(ago=MINUTE)
        reaper.sweep()
        (_, end) = handed_over()
        assert (end.kind, end.at) == ("expired", recorded()[-1].at)

    def test_a_revocation_is_owed_with_its_reason(self) -> None:
        granted = grant()
        engine.revoke(SPACE, NAME, term=granted.hold.term, reason="hangs", actor="key:abc", delay=timedelta(0))
        assert [(event.kind, event.reason) for event in handed_over()][1:] == [("revoked", "hangs")]

    def test_a_group_that_ends_owes_the_end_of_all_that_is_bound_to_it(self) -> None:
        form()
        for name in ("a", "b"):
            grant(name, group=bound())
        dissolve()
        assert sorted(told()) == [
            ("a", "acquired", 1),
            ("a", "released", 2),
            ("b", "acquired", 1),
            ("b", "released", 2),
        ]

    def test_a_restore_owes_what_it_ends(self) -> None:
        grant()
        reaper.after_restore(actor="system")
        assert [kind for _, kind, _ in told()] == ["acquired", "revoked"]

    def test_a_renewal_is_not_owed(self) -> None:
        renew(grant())
        assert told() == [(NAME, "acquired", 1)]

    def test_what_is_owed_outlives_the_history(self) -> None:
        for _ in range(5):
            release(grant())
        reaper.trim(terms_kept=1)
        assert LeaseEvent.objects.count() == 2
        assert [n for _, _, n in told()] == list(range(1, 11))


class TestRenewals:
    @pytest.fixture(autouse=True)
    def followed(self, database: None) -> None:
        owed.follow(SPACE, renewals=True)

    def test_are_owed_without_a_place_in_the_count(self) -> None:
        renewed = renew(grant())
        (_, event) = handed_over()
        assert (event.kind, event.n, event.incarnation) == ("renewed", None, None)
        assert (event.expires_at, event.renewals) == (renewed.hold.expires_at, 1)
        assert [record.kind for record in recorded()] == ["acquired"]

    def test_of_a_bound_lease_are_owed_too(self) -> None:
        form()
        renew(grant(group=bound()))
        assert [event.kind for event in handed_over()] == ["acquired", "renewed"]

    def test_a_refused_one_is_not_owed(self) -> None:
        granted = grant()
        release(granted)
        with pytest.raises(NotCurrent):
            renew(granted)
        assert [event.kind for event in handed_over()] == ["acquired", "released"]


class TestAHandOver:
    @pytest.fixture(autouse=True)
    def followed(self, database: None) -> None:
        owed.follow(SPACE, renewals=False)

    def test_that_fails_leaves_all_owed(self) -> None:
        grant()

        def fail(events: list[OwedEvent]) -> None:
            raise KeyError(len(events))

        with pytest.raises(KeyError):
            owed.hand_over(fail)
        assert told() == [(NAME, "acquired", 1)]

    def test_several_at_once_take_each_event_once(self) -> None:
        for number in range(40):
            release(grant(f"{number:02}"), f"{number:02}")
        shares = together(4, lambda _: handed_over())
        events = [event for share in shares for event in share]
        assert len(events) == len({event.pk for event in events}) == 80

    @pytest.mark.only("postgresql")  # on SQLite, with one writer at a time, the lower number commits first
    def test_finds_what_commits_after_later_ones(self) -> None:
        with outside() as execute:
            execute("BEGIN", ())
            execute(
                "INSERT INTO leases_owedevent (space, name, kind, at, term, holder, expires_at, renewals, reason)"
                " VALUES (%s, 'slow', 'acquired', 1, 1, '', 1, 0, '')",
                (SPACE,),
            )
            grant("quick")
            assert [name for name, _, _ in told()] == ["quick"]
            execute("COMMIT", ())
            assert [name for name, _, _ in told()] == ["slow"]


def test_a_rolled_back_change_owes_nothing() -> None:
    owed.follow(SPACE, renewals=True)
    with pytest.raises(RuntimeError, match="outside transactions"), transaction.atomic():
        grant()
    assert told() == []
