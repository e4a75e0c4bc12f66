"""An endpoint that is gone, or failed for five days, or whose team wants no more: nothing is sent any longer."""

from __future__ import annotations

from datetime import timedelta
from typing import Any

import pytest
from django.utils import timezone

from octostore.leases.models import FollowedSpace
from octostore.teams.models import AuditEntry, Team
from tests.leases.threads import together
from tests.locks.cast import Worker
from tests.webhooks.cast import (
    Keeper,
    attempt_next,
    become_due,
    calls,
    due,
    endpoint_of,
    go_back,
    in_turn,
    meanwhile,
    only_delivery,
    send,
)
from tests.webhooks.receivers import Receiver, answering, receiving
from webhooks import fanning
from webhooks.claiming import claim_due
from webhooks.models import Delivery, Endpoint

pytestmark = pytest.mark.usefixtures("private")

GONE = answering("410 Gone")
FAILING = answering("500 Oops")
FIVE_DAYS = timedelta(days=5)


def states() -> list[str]:
    return list(Delivery.objects.order_by("id").values_list("state", flat=True))


class TestGone:
    def test_switches_off_at_once(self, keeper: Keeper, worker: Worker) -> None:
        with receiving(GONE) as receiver:
            made = keeper.register(receiver.url())
            for lock in "abc":
                worker.hold(lock)
            assert send() == 1
        seen = keeper.webhook(made["id"])
        assert (seen["active"], seen["inactive_reason"]) == (False, "gone")
        assert sorted(states()) == ["cancelled", "cancelled", "failed"]
        assert not FollowedSpace.objects.exists()
        assert send() == 0

    def test_is_in_the_audit(self, keeper: Keeper, team: Team) -> None:
        with receiving(GONE) as receiver:
            made = keeper.register(receiver.url("/a?key=canary"))
            keeper.try_out(made["id"])
            send()
        entry = AuditEntry.objects.get(action="webhook_switched_off")
        assert (entry.team, entry.actor, entry.object) == (team, "system", f"webhook:{made['id']}")
        assert entry.reason == "gone"

    def test_leaves_others_of_the_team_alone(self, keeper: Keeper, worker: Worker, receiver: Receiver) -> None:
        with receiving(GONE) as gone:
            keeper.register(gone.url())
            stays = keeper.register(receiver.url())
            worker.hold("a")
            assert send() == 2
            worker.hold("b")
            assert send() == 1
        assert keeper.webhook(stays["id"])["active"]
        assert FollowedSpace.objects.count() == 1

    def test_at_the_url_before_switches_nothing_off(self, keeper: Keeper, worker: Worker, receiver: Receiver) -> None:
        def move() -> None:
            keeper.change(made["id"], url=receiver.url())

        with receiving(meanwhile(move, GONE)) as gone:
            made = keeper.register(gone.url())
            worker.hold("a")
            assert send() == 2
        assert keeper.webhook(made["id"])["active"]
        assert only_delivery().state == "delivered"
        assert len(receiver.requests) == 1

    def test_can_be_switched_on_again(self, keeper: Keeper, worker: Worker) -> None:
        with receiving(in_turn(GONE, answering())) as receiver:
            made = keeper.register(receiver.url())
            worker.hold("a")
            send()
            keeper.change(made["id"], active=True)
            worker.hold("b")
            assert send() == 1
            assert keeper.recover(made["id"]) == 1
            assert send() == 1
            assert [call.body["data"]["lock"] for call in calls(receiver)] == ["a", "b", "a"]


class TestFiveDaysOfFailures:
    def fail(self, keeper: Keeper, worker: Worker, ago: timedelta, *behaviours: Any) -> dict[str, Any]:
        """The endpoint after a failure so long ago, and one now."""
        with receiving(in_turn(FAILING, *(behaviours or (FAILING,)))) as receiver:
            made = keeper.register(receiver.url())
            worker.hold("a")
            worker.hold("b")
            fanning.fan_out()
            assert attempt_next(endpoint_of(made).pk)
            go_back(Endpoint.objects.all(), ago, "failing_since")
            become_due()
            assert attempt_next(endpoint_of(made).pk)
        return keeper.webhook(made["id"])

    def test_switch_off(self, keeper: Keeper, worker: Worker) -> None:
        seen = self.fail(keeper, worker, FIVE_DAYS)
        assert (seen["active"], seen["inactive_reason"]) == (False, "failing")
        assert states() == ["cancelled", "cancelled"]
        assert AuditEntry.objects.get(action="webhook_switched_off").reason == "failing"

    def test_less_does_not(self, keeper: Keeper, worker: Worker) -> None:
        seen = self.fail(keeper, worker, FIVE_DAYS - timedelta(minutes=1))
        assert seen["active"]
        assert set(states()) == {"pending"}

    def test_end_with_one_success(self, keeper: Keeper, worker: Worker) -> None:
        seen = self.fail(keeper, worker, FIVE_DAYS, answering())
        assert (seen["active"], seen["failing_since"]) == (True, None)
        assert "delivered" in states()

    def test_begin_anew_once_it_is_on_again(self, keeper: Keeper, worker: Worker) -> None:
        seen = self.fail(keeper, worker, FIVE_DAYS)
        keeper.change(seen["id"], active=True)
        keeper.try_out(seen["id"])
        send()
        assert keeper.webhook(seen["id"])["active"]


@pytest.mark.parametrize("stop", ["delete", "switch off"])
class TestStopped:
    def stop(self, keeper: Keeper, made: dict[str, Any], stop: str) -> None:
        if stop == "delete":
            keeper.remove(made["id"])
        else:
            keeper.change(made["id"], active=False)

    def test_sends_no_retry(self, keeper: Keeper, worker: Worker, stop: str) -> None:
        with receiving(FAILING) as receiver:
            made = keeper.register(receiver.url())
            worker.hold("a")
            send()
            self.stop(keeper, made, stop)
            become_due()
            Delivery.objects.update(due_at=timezone.now() - timedelta(days=1))
            assert send() == 0
            assert len(receiver.requests) == 1

    def test_sends_nothing_that_was_already_handed_to_a_worker(
        self, keeper: Keeper, worker: Worker, receiver: Receiver, stop: str
    ) -> None:
        made = keeper.register(receiver.url())
        worker.hold("a")
        fanning.fan_out()
        handed = due()
        self.stop(keeper, made, stop)
        assert [attempt_next(number) for number in handed] == [False]
        assert receiver.requests == []

    def test_is_told_the_end_of_what_was_under_way(self, keeper: Keeper, worker: Worker, stop: str) -> None:
        def end() -> None:
            self.stop(keeper, made, stop)

        with receiving(meanwhile(end, in_turn(GONE))) as receiver:
            made = keeper.register(receiver.url())
            worker.hold("a")
            assert send() == 1
        assert not AuditEntry.objects.filter(action="webhook_switched_off").exists()
        assert only_delivery().attempts.get().status == 410
        assert only_delivery().state in {"cancelled", "pending"}
        assert only_delivery().claimed_until is None
        assert send() == 0

    def test_beside_claims_lets_none_begin_afterwards(self, keeper: Keeper, stop: str) -> None:
        """Each claim that was made was made before, and its attempt is on record then."""
        for _ in range(5):
            made = keeper.register()
            endpoint = endpoint_of(made)
            Endpoint.objects.filter(pk=endpoint.pk).update(last_success_at=timezone.now())
            Delivery.objects.bulk_create(
                Delivery(endpoint=endpoint, message_id=f"msg_{n}", kind="acquired", lock="a", body="{}")
                for n in range(8)
            )

            def act(number: int, made: dict[str, Any] = made, pk: int = endpoint.pk) -> bool:
                if number == 0:
                    with Keeper(keeper.key) as one:
                        self.stop(one, made, stop)
                    return False
                return bool(claim_due(at_most=1, endpoint_id=pk))

            claimed = sum(together(6, act))
            assert endpoint.deliveries.exclude(claimed_until=None).count() == claimed
            assert not claim_due(at_most=1, endpoint_id=endpoint.pk)
            if stop == "switch off":
                assert endpoint.deliveries.filter(state="pending").count() == 0
            Endpoint.objects.all().delete()
