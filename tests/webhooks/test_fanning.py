"""From events to deliveries: each matching active endpoint is owed each event, once, however it is handed over."""

from __future__ import annotations

from typing import Any

import pytest

from octostore.leases.models import FollowedSpace, OwedEvent
from tests.leases.threads import together
from tests.locks.cast import Worker, expire
from tests.webhooks.cast import Keeper, endpoint_of
from webhooks import fanning, messages
from webhooks.models import Delivery, Endpoint


def owed_to(made: dict[str, Any]) -> list[tuple[str, str]]:
    """Kind and lock of all deliveries of it."""
    return list(Delivery.objects.filter(endpoint=endpoint_of(made)).order_by("id").values_list("kind", "lock"))


class TestEvents:
    def live(self, worker: Worker, lock: str) -> None:
        """Acquired, renewed, released; acquired and expired."""
        lease_id = worker.hold(lock)["lease_id"]
        worker.renew_lock(lock, lease_id)
        worker.release(lock, lease_id)
        worker.hold(lock)
        expire(lock)
        worker.hold(lock)
        fanning.fan_out()

    @pytest.mark.parametrize(
        ("events", "expected"),
        [
            (None, ["acquired", "released", "acquired", "expired", "acquired"]),
            (["*"], ["acquired", "renewed", "released", "acquired", "expired", "acquired"]),
            (["acquired"], ["acquired"] * 3),
            (["released"], ["released"]),
            (["renewed"], ["renewed"]),
            (["expired", "renewed"], ["renewed", "expired"]),
        ],
    )
    def test_are_owed_where_they_are_asked_for(
        self, keeper: Keeper, worker: Worker, events: list[str] | None, expected: list[str]
    ) -> None:
        made = keeper.register(events=events)
        self.live(worker, "a")
        assert [kind for kind, _ in owed_to(made)] == expected

    def test_of_renewal_are_owed_to_none_but_who_asks(self, keeper: Keeper, worker: Worker) -> None:
        every, usual = keeper.register(events=["*"]), keeper.register()
        self.live(worker, "a")
        assert len(owed_to(every)) == 6
        assert len(owed_to(usual)) == 5

    def test_of_renewal_are_not_kept_where_nobody_asks(self, keeper: Keeper, worker: Worker) -> None:
        keeper.register()
        worker.renew_lock("a", worker.hold("a")["lease_id"])
        assert [event.kind for event in OwedEvent.objects.all()] == ["acquired"]

    def test_a_revocation_is_owed_as_a_release(self, keeper: Keeper, worker: Worker, admin: Keeper) -> None:
        made = keeper.register(events=["released"])
        admin.revoke("a", worker.hold("a")["fencing_token"])
        fanning.fan_out()
        assert owed_to(made) == [("released", "a")]

    def test_are_of_the_teams_own_locks(self, keeper: Keeper, worker: Worker, outsider: Keeper) -> None:
        mine, theirs = keeper.register(), outsider.register()
        worker.hold("a")
        outsider.hold("a")
        outsider.hold("b")
        fanning.fan_out()
        assert owed_to(mine) == [("acquired", "a")]
        assert owed_to(theirs) == [("acquired", "a"), ("acquired", "b")]

    def test_of_elections_are_owed_to_nobody(self, keeper: Keeper) -> None:
        keeper.register(events=["*"])
        keeper.campaign("room-0000001", "atlas")
        assert not OwedEvent.objects.exists()


class TestPatterns:
    LOCKS = ("a", "ab", "a/b", "a/c", "b/a", "A", "é", "e", "a.b", "a_b", "a-b")

    @pytest.mark.parametrize(
        ("pattern", "expected"),
        [
            ("*", LOCKS),
            ("a", ("a",)),
            ("a*", ("a", "ab", "a/b", "a/c", "a.b", "a_b", "a-b")),
            ("a/*", ("a/b", "a/c")),
            ("a/", ()),
            ("a_*", ("a_b",)),
            ("a.*", ("a.b",)),
            ("é", ("é",)),
            ("%", ()),
        ],
    )
    def test_choose_locks_byte_for_byte(
        self, keeper: Keeper, worker: Worker, pattern: str, expected: tuple[str, ...]
    ) -> None:
        made = keeper.register(lock_pattern=pattern)
        for lock in self.LOCKS:
            worker.hold(lock)
        fanning.fan_out()
        assert tuple(lock for _, lock in owed_to(made)) == expected


class TestAnEndpointThatIsOffOrGone:
    def test_is_owed_nothing(self, keeper: Keeper, worker: Worker) -> None:
        off, gone, stays = keeper.register(), keeper.register(), keeper.register()
        keeper.change(off["id"], active=False)
        keeper.remove(gone["id"])
        worker.hold("a")
        fanning.fan_out()
        assert [endpoint.uuid for endpoint in Endpoint.objects.filter(deliveries__isnull=False)] == [
            endpoint_of(stays).uuid
        ]

    def test_leaves_nothing_behind_that_nobody_takes_over(self, keeper: Keeper, worker: Worker) -> None:
        made = keeper.register()
        worker.hold("a")
        keeper.remove(made["id"])
        worker.hold("b")
        assert [event.name for event in OwedEvent.objects.all()] == ["a"]
        fanning.fan_out()
        assert not OwedEvent.objects.exists()
        assert not Delivery.objects.exists()

    def test_is_owed_nothing_of_the_time_when_it_comes_back(self, keeper: Keeper, worker: Worker) -> None:
        made = keeper.register()
        keeper.change(made["id"], active=False)
        worker.hold("a")
        keeper.change(made["id"], active=True)
        worker.hold("b")
        fanning.fan_out()
        assert owed_to(made) == [("acquired", "b")]

    def test_sends_nothing_that_was_taken_over_beside_its_switching_off(self, keeper: Keeper, worker: Worker) -> None:
        made = keeper.register()
        worker.hold("a")
        keeper.change(made["id"], active=False)
        # Whoever read it as active a moment before writes this a moment after.
        Delivery.objects.create(endpoint=endpoint_of(made), message_id="msg_late", kind="acquired", lock="a", body="{}")
        keeper.change(made["id"], active=True)
        assert keeper.delivery(made["id"])["state"] == "cancelled"


class TestHandedOverTwice:
    def test_is_owed_once(self, keeper: Keeper, worker: Worker) -> None:
        keeper.register(), keeper.register()
        worker.renew_lock("a", worker.hold("a")["lease_id"])
        events = list(OwedEvent.objects.all())
        fanning.fan_out()
        before = list(Delivery.objects.order_by("id").values())
        Delivery.objects.filter(pk=before[0]["id"]).update(state="delivered", attempts_made=3)
        OwedEvent.objects.bulk_create(events)
        fanning.fan_out()
        after = list(Delivery.objects.order_by("id").values())
        assert after == [before[0] | {"state": "delivered", "attempts_made": 3}, *before[1:]]

    @pytest.mark.parametrize("events", [40])
    def test_by_many_at_once_is_owed_once(self, keeper: Keeper, worker: Worker, events: int) -> None:
        made = [keeper.register() for _ in range(3)]
        for number in range(events):
            worker.hold(f"{number:02}")
        together(4, lambda _: fanning.fan_out())
        for one in made:
            assert sorted(lock for _, lock in owed_to(one)) == [f"{number:02}" for number in range(events)]


class TestMany:
    def test_are_taken_over_in_short_transactions(
        self, keeper: Keeper, worker: Worker, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        made = keeper.register()
        for number in range(7):
            worker.hold(f"{number}")
        monkeypatch.setattr("octostore.leases.owed.BATCH", 3)
        assert fanning.fan_out() == 7
        assert [lock for _, lock in owed_to(made)] == [f"{number}" for number in range(7)]

    def test_leave_the_rest_to_the_next_when_time_runs_out(
        self, keeper: Keeper, worker: Worker, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        keeper.register()
        for number in range(7):
            worker.hold(f"{number}")
        monkeypatch.setattr("octostore.leases.owed.BATCH", 3)
        assert [fanning.fan_out(seconds=0) for _ in range(4)] == [3, 3, 1, 0]

    def test_of_which_one_fails_stay_owed(
        self, keeper: Keeper, worker: Worker, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        made = keeper.register()
        worker.hold("a")
        with monkeypatch.context() as broken:
            broken.setattr(messages, "asks_for", lambda *_, **__: 1 / 0)
            with pytest.raises(ZeroDivisionError):
                fanning.fan_out()
        assert OwedEvent.objects.count() == 1
        fanning.fan_out()
        assert owed_to(made) == [("acquired", "a")]


def test_a_team_without_webhooks_costs_nothing(worker: Worker) -> None:
    worker.hold("a")
    assert not FollowedSpace.objects.exists()
    assert fanning.fan_out() == 0
