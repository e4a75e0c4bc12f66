"""What was sent is kept for thirty days, and nothing of an endpoint that was deleted."""

from __future__ import annotations

from datetime import timedelta
from typing import Any

import pytest
from django.utils import timezone

from tests.locks.cast import Worker
from tests.webhooks.cast import Keeper, begin_and_die, endpoint_of, go_back, meanwhile, send
from tests.webhooks.receivers import answering, receiving
from webhooks import deliveries
from webhooks.models import Delivery, Endpoint


class TestForgetting:
    def old(self, made: dict[str, Any], state: str, days: float) -> Delivery:
        one = Delivery.objects.create(
            endpoint=endpoint_of(made),
            message_id=f"msg_{days}_{state}",
            kind="acquired",
            lock="a",
            body="{}",
            state=state,
        )
        one.attempts.create(number=1, trigger="automatic", began_at=timezone.now())
        go_back(Delivery.objects.filter(pk=one.pk), timedelta(days=days), "created_at")
        return one

    def test_takes_what_is_over_for_thirty_days(self, keeper: Keeper) -> None:
        made = keeper.register()
        stays = [self.old(made, "pending", 40), *(self.old(made, state, 29) for state in ("delivered", "failed"))]
        for state in ("delivered", "failed", "cancelled"):
            self.old(made, state, 31)
        assert deliveries.forget_old() == 3
        assert list(Delivery.objects.order_by("id")) == stays

    def test_takes_all_of_what_was_deleted(self, keeper: Keeper) -> None:
        gone, stays = keeper.register(), keeper.register()
        for made in (gone, stays):
            self.old(made, "pending", 0)
            self.old(made, "delivered", 1)
        keeper.remove(gone["id"])
        assert deliveries.forget_old() == 2
        assert [endpoint.uuid for endpoint in Endpoint.objects.all()] == [endpoint_of(stays).uuid]

    def test_goes_in_short_transactions(self, keeper: Keeper, monkeypatch: pytest.MonkeyPatch) -> None:
        made = keeper.register()
        for days in range(31, 38):
            self.old(made, "delivered", days)
        monkeypatch.setattr(deliveries, "BATCH", 3)
        assert [deliveries.forget_old(seconds=0) for _ in range(2)] == [0, 0]
        assert deliveries.forget_old() == 7

    @pytest.mark.usefixtures("private")
    def test_beside_an_attempt_hurts_nobody(self, keeper: Keeper, worker: Worker) -> None:
        def forget() -> None:
            keeper.remove(made["id"])
            assert deliveries.forget_old() == 1
            assert not Endpoint.objects.exists()

        with receiving(meanwhile(forget, answering())) as receiver:
            made = keeper.register(receiver.url())
            worker.hold("a")
            assert send() == 1


def test_a_killed_claim_does_not_keep_an_endpoint(keeper: Keeper) -> None:
    made = keeper.register()
    keeper.try_out(made["id"])
    begin_and_die(made)
    keeper.remove(made["id"])
    assert deliveries.forget_old() == 1
    assert not Endpoint.objects.exists()
