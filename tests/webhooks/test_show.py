"""GET /webhooks/{id}: whether it is active, and since when calls to it fail."""

from __future__ import annotations

from typing import ClassVar

import pytest

from tests.elections.rooms import instant
from tests.locks.cast import Worker
from tests.webhooks.cast import Keeper, endpoint_of, in_turn, milliseconds, send
from tests.webhooks.ladder import LadderOfOne
from tests.webhooks.receivers import Receiver, answering, receiving


class TestShowing:
    def test_answers_what_was_made_without_its_secret(self, keeper: Keeper) -> None:
        made = keeper.register()
        assert keeper.webhook(made["id"]) == made | {"secret": "****"}

    def test_tells_when_a_call_last_succeeded(self, keeper: Keeper, worker: Worker, receiver: Receiver) -> None:
        made = keeper.register(receiver.url())
        worker.hold("a")
        send()
        seen = keeper.webhook(made["id"])
        succeeded_at = endpoint_of(made).last_success_at
        assert succeeded_at
        assert abs(instant(seen["last_success_at"]) - milliseconds(succeeded_at)) <= 1
        assert (seen["failing_since"], seen["active"]) == (None, True)

    @pytest.mark.usefixtures("private")
    def test_tells_since_when_calls_fail(self, keeper: Keeper, worker: Worker) -> None:
        with receiving(in_turn(answering("500 Oops"), answering("500 Oops"), answering())) as receiver:
            made = keeper.register(receiver.url())
            for _ in range(2):
                keeper.try_out(made["id"])
                send()
                seen = keeper.webhook(made["id"])
                failing_since = endpoint_of(made).failing_since
                assert failing_since
                assert abs(instant(seen["failing_since"]) - milliseconds(failing_since)) <= 1
            keeper.try_out(made["id"])
            send()
        assert keeper.webhook(made["id"])["failing_since"] is None

    def test_one_that_was_changed_by_another_key_is_the_teams(self, keeper: Keeper, admin: Keeper) -> None:
        made = admin.register()
        keeper.change(made["id"], events=["expired"])
        assert admin.webhook(made["id"])["events"] == ["expired"]


class TestInput(LadderOfOne):
    method: ClassVar[str] = "GET"
    path: ClassVar[str] = "/webhooks/{webhook}"
