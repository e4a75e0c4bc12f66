"""DELETE /webhooks/{id}: from now on it is there for nobody."""

from __future__ import annotations

from typing import ClassVar

from octostore.leases.models import FollowedSpace
from octostore.teams.models import AuditEntry
from tests.elections.rooms import told
from tests.locks.cast import Worker
from tests.webhooks.cast import SHOWN, Keeper, send
from tests.webhooks.ladder import LadderOfOne
from tests.webhooks.receivers import Receiver


class TestDeleting:
    def test_answers_204_and_then_404(self, keeper: Keeper) -> None:
        made = keeper.register()
        answer = keeper.delete(f"/webhooks/{made['id']}")
        assert (answer.status_code, answer.content) == (204, b"")
        assert told(keeper.delete(f"/webhooks/{made['id']}")) == (404, "not_found")
        assert keeper.get("/webhooks").json() == []

    def test_sends_nothing_that_waits(self, keeper: Keeper, worker: Worker, receiver: Receiver) -> None:
        keeper.try_out((gone := keeper.register(receiver.url()))["id"])
        worker.hold("a")
        keeper.remove(gone["id"])
        assert send() == 0
        assert receiver.requests == []

    def test_leaves_others_alone(self, keeper: Keeper, worker: Worker, receiver: Receiver) -> None:
        gone = keeper.register(receiver.url())
        keeper.register(receiver.url())
        worker.hold("a")
        keeper.remove(gone["id"])
        assert send() == 1

    def test_of_the_last_one_owes_nothing_more(self, keeper: Keeper) -> None:
        keeper.remove(keeper.register()["id"])
        assert not FollowedSpace.objects.exists()

    def test_is_in_the_audit(self, keeper: Keeper) -> None:
        made = keeper.register()
        answer = keeper.delete(f"/webhooks/{made['id']}")
        entry = AuditEntry.objects.get(action="webhook_deleted")
        assert (entry.actor, entry.object) == (f"key:{keeper.visible}", f"webhook:{made['id']}")
        assert entry.request_id == answer.headers["X-Request-Id"]
        assert entry.before
        assert entry.before["url"] == SHOWN


class TestInput(LadderOfOne):
    method: ClassVar[str] = "DELETE"
    path: ClassVar[str] = "/webhooks/{webhook}"
