"""What every endpoint of webhooks does alike, beyond what every endpoint behind a key does."""

from __future__ import annotations

from typing import Any, ClassVar

import httpx

from tests.elections.rooms import told
from tests.locks import ladder
from tests.locks.cast import Worker
from tests.webhooks.cast import UNKNOWN, Keeper, endpoint_of, stored
from webhooks.models import Delivery, Endpoint

# Where an id is expected, before percent-decoding.
NO_IDS = {
    "text": "webhook",
    "number": "1",
    "without hyphens": UNKNOWN.replace("-", ""),
    "in braces": f"%7B{UNKNOWN}%7D",
    "URN": f"urn:uuid:{UNKNOWN}",
    "digits of Unicode": UNKNOWN.replace("0", "%D9%A0"),
    "NUL": f"{UNKNOWN[:-1]}%00",
    "line end": f"{UNKNOWN}%0A",
    "long": UNKNOWN * 40,
}


class Ladder(ladder.Ladder):
    """`{webhook}` and `{delivery}` in a test's path stand for ids."""

    scope: ClassVar[str] = "webhooks"

    def ask(
        self, client: httpx.Client, lock: str = "", *, webhook: str = UNKNOWN, delivery: str = UNKNOWN, **more: Any
    ) -> httpx.Response:
        sent = {} if self.body is None else {"json": self.body}
        path = self.path.format(webhook=webhook, delivery=delivery)
        return client.request(self.method, path, headers=self.headers | more.pop("headers", {}), **(sent | more))


class LadderOfOne(Ladder):
    """Of an endpoint about one webhook, or one delivery of it."""

    def test_another_teams_is_answered_as_an_absent_one(self, keeper: Keeper, outsider: Keeper) -> None:
        mine = _with_delivery(keeper)
        before = stored()
        answers = [
            self.ask(outsider, **mine),
            self.ask(outsider),
            self.ask(outsider, **(mine | {"delivery": UNKNOWN})),
            self.ask(outsider, webhook=outsider.register()["id"], delivery=mine["delivery"])
            if "{delivery}" in self.path
            else self.ask(outsider),
        ]
        assert {told(answer) for answer in answers} == {(404, "not_found")}
        bodies = [{**answer.json(), "request_id": ""} for answer in answers]
        assert bodies == [bodies[0]] * len(bodies)
        assert [row for row in stored() if row in before] == before

    def test_a_deleted_one_is_none(self, keeper: Keeper) -> None:
        mine = _with_delivery(keeper)
        keeper.remove(mine["webhook"])
        assert told(self.ask(keeper, **mine)) == (404, "not_found")

    def test_one_outside_the_keys_prefix_is_none(self, keeper: Keeper, within: Keeper) -> None:
        for pattern in ("*", "repo*", "repo", "other/*", "Repo/*", "r*"):
            mine = _with_delivery(keeper, lock_pattern=pattern)
            assert told(self.ask(within, **mine)) == (404, "not_found"), pattern
            keeper.remove(mine["webhook"])
        for pattern in ("repo/*", "repo/a*", "repo/a"):
            mine = _with_delivery(keeper, lock_pattern=pattern)
            answer = self.ask(within, **mine)
            assert answer.status_code < 300, (pattern, answer.text)
            if Endpoint.objects.filter(uuid=mine["webhook"], deleted_at=None).exists():
                keeper.remove(mine["webhook"])

    def test_what_can_be_no_id_is_none(self, keeper: Keeper) -> None:
        mine = _with_delivery(keeper)
        for label, raw in NO_IDS.items():
            assert told(self.ask(keeper, **(mine | {"webhook": raw}))) == (404, "not_found"), label
            if "{delivery}" in self.path:
                assert told(self.ask(keeper, **(mine | {"delivery": raw}))) == (404, "not_found"), label

    def test_an_id_may_be_written_in_capitals(self, keeper: Keeper) -> None:
        mine = _with_delivery(keeper)
        answer = self.ask(keeper, **{name: text.upper() for name, text in mine.items()})
        assert answer.status_code < 300, answer.text

    def test_a_worker_of_locks_is_refused_whatever_is_there(self, keeper: Keeper, worker: Worker) -> None:
        mine = _with_delivery(keeper)
        assert told(self.ask(worker, **mine)) == told(self.ask(worker)) == (403, "forbidden")


def _with_delivery(keeper: Keeper, **asked: Any) -> dict[str, str]:
    """The ids of a fresh webhook and of a delivery of it that was made."""
    made = keeper.register(**asked)
    delivery = Delivery.objects.create(
        endpoint=endpoint_of(made),
        message_id=f"msg_{made['id']}",
        kind="acquired",
        lock="repo/a",
        body="{}",
        state=Delivery.State.DELIVERED,
    )
    return {"webhook": made["id"], "delivery": str(delivery.uuid)}
