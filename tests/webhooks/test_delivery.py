"""GET /webhooks/{id}/deliveries/{delivery}: one delivery as the list shows it."""

from __future__ import annotations

from typing import ClassVar

from tests.elections.rooms import told
from tests.webhooks.cast import UNKNOWN, Keeper
from tests.webhooks.ladder import LadderOfOne


class TestShowing:
    def test_answers_as_the_list_does(self, keeper: Keeper) -> None:
        made = keeper.register()
        tried = [keeper.try_out(made["id"]) for _ in range(2)]
        shown = [keeper.get(f"/webhooks/{made['id']}/deliveries/{one['id']}").json() for one in tried]
        assert shown == tried == keeper.deliveries(made["id"])[::-1]

    def test_of_another_webhook_is_none(self, keeper: Keeper) -> None:
        made, other = keeper.register(), keeper.register()
        tried = keeper.try_out(made["id"])
        for delivery in (tried["id"], UNKNOWN):
            assert told(keeper.get(f"/webhooks/{other['id']}/deliveries/{delivery}")) == (404, "not_found")


class TestInput(LadderOfOne):
    method: ClassVar[str] = "GET"
    path: ClassVar[str] = "/webhooks/{webhook}/deliveries/{delivery}"
