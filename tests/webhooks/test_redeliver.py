"""POST /webhooks/{id}/deliveries/{delivery}/redeliver: sent again by hand, beside the schedule."""

from __future__ import annotations

from datetime import timedelta
from typing import Any, ClassVar

import httpx
import pytest
from django.utils import timezone

from octostore.teams.models import AuditEntry
from tests.elections.rooms import told
from tests.locks.cast import Worker
from tests.webhooks.cast import (
    UNKNOWN,
    Keeper,
    become_due,
    begin_and_die,
    calls,
    in_turn,
    meanwhile,
    only_delivery,
    send,
    stored,
)
from tests.webhooks.ladder import LadderOfOne
from tests.webhooks.receivers import Receiver, answering, receiving
from webhooks import fanning, schedule
from webhooks.models import Delivery

State = Delivery.State
FAILING = answering("500 Oops")


def again(keeper: Keeper, made: dict[str, Any]) -> dict[str, Any]:
    answer = keeper.redeliver(made["id"], str(only_delivery().uuid))
    assert answer.status_code == 202, answer.text
    told_of: dict[str, Any] = answer.json()
    return told_of


class TestADeliveryThatArrived:
    def test_arrives_again_under_the_same_id_and_to_the_byte(
        self, keeper: Keeper, worker: Worker, receiver: Receiver
    ) -> None:
        made = keeper.register(receiver.url())
        worker.hold("a")
        send()
        told_of = again(keeper, made)
        assert (told_of["state"], len(told_of["attempts"])) == ("pending", 1)
        assert send() == 1
        first, second = calls(receiver)
        assert (first.id, first.raw) == (second.id, second.raw)
        seen = keeper.delivery(made["id"])
        assert seen["state"] == "delivered"
        assert [one["trigger"] for one in seen["attempts"]] == ["automatic", "manual"]

    @pytest.mark.usefixtures("private")
    def test_and_now_fails_is_not_tried_on(self, keeper: Keeper, worker: Worker) -> None:
        with receiving(in_turn(answering(), FAILING)) as receiver:
            made = keeper.register(receiver.url())
            worker.hold("a")
            send()
            again(keeper, made)
            send()
            become_due()
            assert send() == 0
        assert keeper.delivery(made["id"])["state"] == "failed"


@pytest.mark.usefixtures("private")
class TestADeliveryThatFailed:
    def test_is_sent_once(self, keeper: Keeper, worker: Worker) -> None:
        with receiving(FAILING) as receiver:
            made = keeper.register(receiver.url())
            worker.hold("a")
            fanning.fan_out()
            Delivery.objects.update(state=State.FAILED, round_made=schedule.ATTEMPTS)
            for _ in range(2):
                again(keeper, made)
                assert send() == 1
                assert keeper.delivery(made["id"])["state"] == "failed"

    def test_is_over_when_the_process_is_killed(self, keeper: Keeper, worker: Worker) -> None:
        with receiving(answering()) as receiver:
            made = keeper.register(receiver.url())
            worker.hold("a")
            fanning.fan_out()
            Delivery.objects.update(state=State.FAILED, round_made=schedule.ATTEMPTS)
            again(keeper, made)
            begin_and_die(made)
            become_due()
            assert send() == 0
            assert keeper.delivery(made["id"])["state"] == "failed"
            again(keeper, made)
            send()
        assert keeper.delivery(made["id"])["state"] == "delivered"


@pytest.mark.usefixtures("private")
class TestADeliveryThatWaits:
    def test_keeps_what_the_schedule_holds(self, keeper: Keeper, worker: Worker) -> None:
        with receiving(FAILING) as receiver:
            made = keeper.register(receiver.url())
            worker.hold("a")
            send()
            for _ in range(12):
                again(keeper, made)
                assert send() == 1
            assert only_delivery().round_made == 1
            while only_delivery().state == State.PENDING:
                become_due()
                send()
        triggers = [one["trigger"] for one in keeper.delivery(made["id"])["attempts"]]
        assert triggers == ["automatic"] + ["manual"] * 12 + ["automatic"] * (schedule.ATTEMPTS - 1)

    def test_keeps_its_last_attempt(self, keeper: Keeper, worker: Worker) -> None:
        with receiving(FAILING) as receiver:
            made = keeper.register(receiver.url())
            worker.hold("a")
            fanning.fan_out()
            Delivery.objects.update(round_made=schedule.ATTEMPTS - 1)
            again(keeper, made)
            send()
        wait = only_delivery().due_at - timezone.now()
        assert only_delivery().state == State.PENDING
        assert timedelta(hours=23) < wait < timedelta(hours=29)

    def test_that_was_never_tried_is_tried_again_soon(self, keeper: Keeper, worker: Worker) -> None:
        with receiving(FAILING) as receiver:
            made = keeper.register(receiver.url())
            worker.hold("a")
            fanning.fan_out()
            again(keeper, made)
            send()
        assert only_delivery().due_at - timezone.now() < timedelta(seconds=7)

    def test_goes_on_when_the_process_is_killed(self, keeper: Keeper, worker: Worker) -> None:
        with receiving(in_turn(FAILING, answering())) as receiver:
            made = keeper.register(receiver.url())
            worker.hold("a")
            send()
            again(keeper, made)
            begin_and_die(made)
            become_due()
            send()
        assert [one["trigger"] for one in keeper.delivery(made["id"])["attempts"]] == [
            "automatic",
            "manual",
            "automatic",
        ]
        assert keeper.delivery(made["id"])["state"] == "delivered"


class TestAConflict:
    @pytest.mark.usefixtures("private")
    def test_is_an_attempt_under_way(self, keeper: Keeper, worker: Worker) -> None:
        answers: list[httpx.Response] = []

        def repeat() -> None:
            answers.append(keeper.redeliver(made["id"], str(only_delivery().uuid)))

        with receiving(meanwhile(repeat, answering())) as receiver:
            made = keeper.register(receiver.url())
            worker.hold("a")
            send()
            assert len(receiver.requests) == 1
        assert [told(answer) for answer in answers] == [(409, "conflict")]

    def test_is_one_that_is_switched_off(self, keeper: Keeper) -> None:
        made = keeper.register()
        tried = keeper.try_out(made["id"])
        keeper.change(made["id"], active=False)
        before = stored()
        assert told(keeper.redeliver(made["id"], tried["id"])) == (409, "conflict")
        assert told(keeper.redeliver(made["id"], UNKNOWN)) == (409, "conflict")
        assert stored() == before


class TestRedelivering:
    def test_is_in_the_audit(self, keeper: Keeper) -> None:
        made = keeper.register()
        tried = keeper.try_out(made["id"])
        answer = keeper.redeliver(made["id"], tried["id"])
        entry = AuditEntry.objects.get(action="delivery_repeated")
        assert (entry.actor, entry.object) == (f"key:{keeper.visible}", f"delivery:{tried['id']}")
        assert (entry.request_id, entry.after) == (answer.headers["X-Request-Id"], {"webhook": made["id"]})

    def test_twice_before_it_was_made_is_one_attempt(self, keeper: Keeper, receiver: Receiver) -> None:
        made = keeper.register(receiver.url())
        keeper.try_out(made["id"])
        again(keeper, made)
        again(keeper, made)
        assert send() == 1

    def test_of_another_webhooks_is_none(self, keeper: Keeper) -> None:
        made, other = keeper.register(), keeper.register()
        tried = keeper.try_out(made["id"])
        assert told(keeper.redeliver(other["id"], tried["id"])) == (404, "not_found")


class TestInput(LadderOfOne):
    path: ClassVar[str] = "/webhooks/{webhook}/deliveries/{delivery}/redeliver"
    body: ClassVar[dict[str, Any]] = {}
