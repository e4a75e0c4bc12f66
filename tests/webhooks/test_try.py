"""POST /webhooks/{id}/test: one call that says that it is a test."""

from __future__ import annotations

from typing import Any, ClassVar

import pytest

from tests.elections.rooms import told
from tests.webhooks.cast import Keeper, become_due, begin_and_die, calls, only_delivery, send, stored
from tests.webhooks.ladder import LadderOfOne
from tests.webhooks.receivers import Receiver, answering, receiving


class TestTrying:
    def test_answers_at_once_with_a_delivery_to_look_at(self, keeper: Keeper, receiver: Receiver) -> None:
        made = keeper.register(receiver.url())
        tried = keeper.try_out(made["id"])
        assert tried == {
            "id": str(only_delivery().uuid),
            "message_id": only_delivery().message_id,
            "type": "webhook.test",
            "lock": "example/lock",
            "created_at": tried["created_at"],
            "state": "pending",
            "next_attempt_at": tried["next_attempt_at"],
            "attempts": [],
        }
        assert receiver.requests == []
        assert keeper.delivery(made["id"]) == tried

    def test_sends_a_signed_call_that_says_so(self, keeper: Keeper, receiver: Receiver) -> None:
        made = keeper.register(receiver.url(), events=["expired"], lock_pattern="other")
        tried = keeper.try_out(made["id"])
        send()
        (call,) = calls(receiver)
        assert call.is_signed_with(made["secret"])
        assert call.id == tried["message_id"]
        assert call.body == {
            "type": "webhook.test",
            "timestamp": call.body["timestamp"],
            "data": {
                "lock": "example/lock",
                "holder_id": call.body["data"]["holder_id"],
                "holder": "example",
                "fencing_token": 1,
                "expires_at": call.body["data"]["expires_at"],
                "test": True,
            },
        }
        seen = keeper.delivery(made["id"])
        assert seen["state"] == "delivered"
        assert [(one["number"], one["trigger"], one["status"]) for one in seen["attempts"]] == [(1, "test", 200)]

    def test_each_time_is_a_message_of_its_own(self, keeper: Keeper, receiver: Receiver) -> None:
        made = keeper.register(receiver.url())
        assert len({keeper.try_out(made["id"])["message_id"] for _ in range(3)}) == 3
        assert send() == 3

    @pytest.mark.usefixtures("private")
    def test_that_fails_is_not_repeated(self, keeper: Keeper) -> None:
        with receiving(answering("500 Oops")) as receiver:
            made = keeper.register(receiver.url())
            keeper.try_out(made["id"])
            assert send() == 1
        seen = keeper.delivery(made["id"])
        assert (seen["state"], seen["next_attempt_at"]) == ("failed", None)
        assert [one["error"] for one in seen["attempts"]] == ["status"]

    @pytest.mark.usefixtures("private")
    def test_whose_process_was_killed_is_not_repeated(self, keeper: Keeper) -> None:
        with receiving(answering()) as receiver:
            made = keeper.register(receiver.url())
            keeper.try_out(made["id"])
            begin_and_die(made)
            become_due()
            assert send() == 0
            assert receiver.requests == []
        seen = keeper.delivery(made["id"])
        assert (seen["state"], [one["error"] for one in seen["attempts"]]) == ("failed", ["interrupted"])

    def test_of_one_that_is_switched_off_is_a_conflict(self, keeper: Keeper) -> None:
        made = keeper.register()
        keeper.change(made["id"], active=False)
        before = stored()
        assert told(keeper.post(f"/webhooks/{made['id']}/test")) == (409, "conflict")
        assert stored() == before


class TestInput(LadderOfOne):
    path: ClassVar[str] = "/webhooks/{webhook}/test"
    body: ClassVar[dict[str, Any]] = {}
