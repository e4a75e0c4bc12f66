"""POST /webhooks/{id}/recover: what never arrived is sent again."""

from __future__ import annotations

from datetime import timedelta
from typing import Any, ClassVar

import pytest
from django.utils import timezone

from octostore.teams.models import AuditEntry
from tests.elections.rooms import told
from tests.locks.cast import Worker
from tests.locks.ladder import NO_TEXTS, broken, misfits
from tests.webhooks.cast import (
    Keeper,
    attempt_next,
    become_due,
    calls,
    endpoint_of,
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
NO_INSTANTS = {
    "empty": '""',
    "text": '"yesterday"',
    "a day": '"2026-11-30"',
    "without an offset": '"2026-11-30T22:00:00"',
    "seconds": '"1796162620"',
    "thirteenth month": '"2026-13-01T00:00:00Z"',
    "to come": '"2126-12-01T00:00:00Z"',
    "a week ago and then": '"2026-11-30T22:00:00Z and more"',
    "before all time": '"0001-01-01T00:00:00+14:00"',
    "after all time": '"9999-12-31T23:59:59-14:00"',
    "digits of Unicode": '"\\u0662\\u0660\\u0662\\u0666-11-30T22:00:00Z"',
    "long": '"' + "2" * 5000 + '"',
}


def of(endpoint: dict[str, Any], state: State, *, hours_ago: float = 0, kind: str = "acquired") -> Delivery:
    """A delivery that came to that, and was made so long ago."""
    made = Delivery.objects.create(
        endpoint=endpoint_of(endpoint),
        message_id=f"msg_{Delivery.objects.count()}",
        kind=kind,
        lock="a",
        body="{}",
        state=state,
        ended_at=None if state == State.PENDING else timezone.now(),
        attempts_made=9,
        round_made=9,
        due_at=timezone.now() + timedelta(hours=1),
    )
    Delivery.objects.filter(pk=made.pk).update(created_at=timezone.now() - timedelta(hours=hours_ago))
    return made


class TestRecovering:
    def test_sends_what_failed_or_was_cancelled_and_nothing_else(self, keeper: Keeper, receiver: Receiver) -> None:
        made, other = keeper.register(receiver.url()), keeper.register(receiver.url())
        lost = [of(made, State.FAILED), of(made, State.CANCELLED)]
        of(made, State.DELIVERED), of(made, State.PENDING), of(made, State.FAILED, kind="test")
        of(other, State.FAILED)
        assert keeper.recover(made["id"]) == 2
        assert send() == 2
        assert sorted(call.id for call in calls(receiver)) == sorted(one.message_id for one in lost)
        assert keeper.recover(made["id"]) == 0

    def test_sends_what_was_made_from_then_on(self, keeper: Keeper, receiver: Receiver) -> None:
        made = keeper.register(receiver.url())
        of(made, State.FAILED, hours_ago=3)
        late = of(made, State.FAILED, hours_ago=1)
        since = timezone.now() - timedelta(hours=2)
        assert keeper.recover(made["id"], since=since.isoformat()) == 1
        send()
        assert [call.id for call in calls(receiver)] == [late.message_id]

    def test_takes_every_offset(self, keeper: Keeper) -> None:
        made = keeper.register()
        for offset in ("Z", "+00:00", "-07:00", "+14:00"):
            assert keeper.recover(made["id"], since=f"2026-01-01T00:00:00.123{offset}") == 0

    @pytest.mark.usefixtures("private")
    def test_begins_the_whole_schedule_anew(self, keeper: Keeper) -> None:
        with receiving(answering("500 Oops")) as receiver:
            made = keeper.register(receiver.url())
            of(made, State.FAILED)
            keeper.recover(made["id"])
            while only_delivery().state == State.PENDING:
                send()
                become_due()
            assert len(receiver.requests) == schedule.ATTEMPTS
        seen = keeper.delivery(made["id"])
        assert [one["trigger"] for one in seen["attempts"]] == ["recovery"] + ["automatic"] * 8
        assert [one["number"] for one in seen["attempts"]] == list(range(10, 19))

    def test_fetches_what_was_cancelled_by_switching_off(
        self, keeper: Keeper, worker: Worker, receiver: Receiver
    ) -> None:
        made = keeper.register(receiver.url())
        keeper.try_out(made["id"])
        worker.hold("a")
        fanning.fan_out()
        keeper.change(made["id"], active=False)
        worker.hold("b")
        keeper.change(made["id"], active=True)
        assert send() == 0
        assert keeper.recover(made["id"]) == 1
        send()
        assert [call.body["data"]["lock"] for call in calls(receiver)] == ["a"]

    def test_is_in_the_audit(self, keeper: Keeper) -> None:
        made = keeper.register()
        of(made, State.FAILED)
        keeper.recover(made["id"], since="2026-11-01T00:00:00+01:00")
        entry = AuditEntry.objects.get(action="webhook_recovered")
        assert (entry.actor, entry.object) == (f"key:{keeper.visible}", f"webhook:{made['id']}")
        assert entry.after == {"since": "2026-10-31T23:00:00+00:00", "count": 1}

    def test_of_one_that_is_switched_off_is_a_conflict(self, keeper: Keeper) -> None:
        made = keeper.register()
        of(made, State.FAILED)
        keeper.change(made["id"], active=False)
        before = stored()
        answer = keeper.post(f"/webhooks/{made['id']}/recover", json={"since": "2026-01-01T00:00:00Z"})
        assert told(answer) == (409, "conflict")
        assert stored() == before


@pytest.mark.usefixtures("private")
class TestAnAttemptUnderWay:
    @pytest.mark.parametrize(("status", "state"), [("200 OK", State.DELIVERED), ("500 Oops", State.PENDING)])
    def test_ends_as_it_ends_and_is_made_by_nobody_beside(
        self, keeper: Keeper, worker: Worker, status: str, state: State
    ) -> None:
        """Cancelled by switching off, and recovered before it was over."""
        others: list[bool] = []

        def recover() -> None:
            keeper.change(made["id"], active=False)
            keeper.change(made["id"], active=True)
            assert keeper.recover(made["id"]) == 1
            others.append(attempt_next(endpoint_of(made).pk))

        with receiving(meanwhile(recover, answering(status))) as receiver:
            made = keeper.register(receiver.url())
            worker.hold("a")
            send()
            assert others == [False]
            assert len(receiver.requests) == 1
        delivery = only_delivery()
        assert (delivery.state, delivery.claimed_until) == (state, None)
        if state == State.PENDING:
            assert timedelta() < delivery.due_at - timezone.now() < timedelta(seconds=6)
            assert delivery.round_made == 0


class TestInput(LadderOfOne):
    path: ClassVar[str] = "/webhooks/{webhook}/recover"
    body: ClassVar[dict[str, Any]] = {"since": "2026-01-01T00:00:00Z"}

    def test_each_bad_field_is_refused_and_named(self, keeper: Keeper) -> None:
        made = keeper.register()
        for label, (text, status, code) in (misfits(NO_TEXTS | {"null": "null"}) | broken(NO_INSTANTS)).items():
            headers = {"Content-Type": "application/json"}
            raw = f'{{"since": {text}}}'.encode()
            answer = keeper.post(f"/webhooks/{made['id']}/recover", content=raw, headers=headers)
            assert told(answer) == (status, code), (label, answer.text)
            assert "since" in answer.json()["details"], label

    def test_since_is_required(self, keeper: Keeper) -> None:
        answer = keeper.post(f"/webhooks/{keeper.register()['id']}/recover", json={})
        assert (answer.status_code, answer.json()["details"]) == (422, "since is required")
