"""GET /webhooks/{id}/deliveries: what was sent, attempt by attempt, the newest first."""

from __future__ import annotations

from typing import Any, ClassVar

import pytest

from octostore.api import cursors
from tests.elections.rooms import told
from tests.locks.cast import Worker
from tests.webhooks.cast import (
    Keeper,
    become_due,
    begin_and_die,
    calls,
    endpoint_of,
    in_turn,
    meanwhile,
    only_delivery,
    send,
)
from tests.webhooks.ladder import LadderOfOne
from tests.webhooks.receivers import Receiver, answering, receiving
from webhooks import fanning
from webhooks.models import Delivery


def fill(made: dict[str, Any], count: int, state: str = "delivered") -> list[str]:
    """The ids of so many deliveries, the newest first."""
    endpoint = endpoint_of(made)
    rows = [
        Delivery(endpoint=endpoint, message_id=f"msg_{state}_{n}", kind="expired", lock=f"l{n}", body="{}", state=state)
        for n in range(count)
    ]
    return [str(row.uuid) for row in reversed(Delivery.objects.bulk_create(rows))]


def walk(keeper: Keeper, webhook_id: str, **asked: Any) -> list[list[str]]:
    """The ids on each page."""
    pages: list[list[str]] = []
    cursor: dict[str, str] = {}
    while True:
        answer = keeper.get(f"/webhooks/{webhook_id}/deliveries", params=asked | cursor)
        assert answer.status_code == 200, answer.text
        assert answer.json().keys() == {"deliveries", "next_cursor"}
        pages.append([one["id"] for one in answer.json()["deliveries"]])
        if answer.json()["next_cursor"] is None:
            return pages
        cursor = {"cursor": answer.json()["next_cursor"]}


@pytest.mark.usefixtures("private")
class TestADelivery:
    def test_is_told_with_every_attempt(self, keeper: Keeper, worker: Worker, lock: str) -> None:
        with receiving(in_turn(answering("500 Oops", body=b"db down"), answering(body=b"thanks"))) as receiver:
            made = keeper.register(receiver.url())
            worker.hold(lock)
            fanning.fan_out()
            waiting = keeper.delivery(made["id"])
            send()
            failed = keeper.delivery(made["id"])
            become_due()
            send()
            done = keeper.delivery(made["id"])
            message_id = calls(receiver)[0].id
        first = {
            "number": 1,
            "trigger": "automatic",
            "at": failed["attempts"][0]["at"],
            "duration_ms": failed["attempts"][0]["duration_ms"],
            "status": 500,
            "error": "status",
            "response": "db down",
        }
        second = {
            **first,
            "number": 2,
            "at": done["attempts"][1]["at"],
            "duration_ms": done["attempts"][1]["duration_ms"],
            "status": 200,
            "error": None,
            "response": "thanks",
        }
        assert waiting == {
            "id": str(only_delivery().uuid),
            "message_id": message_id,
            "type": "lock.acquired",
            "lock": lock,
            "created_at": waiting["created_at"],
            "state": "pending",
            "next_attempt_at": waiting["created_at"],
            "attempts": [],
        }
        assert failed == waiting | {"attempts": [first], "next_attempt_at": failed["next_attempt_at"]}
        assert failed["next_attempt_at"] > failed["attempts"][0]["at"]
        assert done == waiting | {"state": "delivered", "next_attempt_at": None, "attempts": [first, second]}

    def test_shows_an_attempt_that_is_under_way(self, keeper: Keeper, worker: Worker) -> None:
        seen: list[dict[str, Any]] = []

        def look() -> None:
            seen.append(keeper.delivery(made["id"]))

        with receiving(meanwhile(look, answering())) as receiver:
            made = keeper.register(receiver.url())
            worker.hold("a")
            send()
        (attempt,) = seen[0]["attempts"]
        assert (attempt["duration_ms"], attempt["status"], attempt["error"]) == (None, None, None)
        assert (seen[0]["state"], seen[0]["next_attempt_at"]) == ("pending", None)

    def test_shows_one_under_way_that_was_cancelled_meanwhile(self, keeper: Keeper, worker: Worker) -> None:
        seen: list[dict[str, Any]] = []

        def switch_off() -> None:
            keeper.change(made["id"], active=False)
            seen.append(keeper.delivery(made["id"]))

        with receiving(meanwhile(switch_off, answering("500 Oops"))) as receiver:
            made = keeper.register(receiver.url())
            worker.hold("a")
            send()
        assert (seen[0]["state"], seen[0]["attempts"][0]["error"]) == ("cancelled", None)
        assert keeper.delivery(made["id"])["attempts"][0]["error"] == "status"

    def test_shows_one_whose_process_was_killed(self, keeper: Keeper, worker: Worker, receiver: Receiver) -> None:
        made = keeper.register(receiver.url())
        worker.hold("a")
        fanning.fan_out()
        begin_and_die(made)
        become_due()
        assert [one["error"] for one in keeper.delivery(made["id"])["attempts"]] == ["interrupted"]
        send()
        seen = keeper.delivery(made["id"])
        assert [one["error"] for one in seen["attempts"]] == ["interrupted", None]
        assert seen["state"] == "delivered"

    def test_shows_text_of_the_receiver_as_text(self, keeper: Keeper) -> None:
        with receiving(answering(body=b'\xff\x00<b>"\r\n' + b"x" * 9000)) as receiver:
            made = keeper.register(receiver.url())
            keeper.try_out(made["id"])
            send()
        response = keeper.delivery(made["id"])["attempts"][0]["response"]
        assert response.startswith('\ufffd <b>"')
        assert len(response) <= 4096


class TestTheList:
    def test_is_empty_at_first(self, keeper: Keeper) -> None:
        assert walk(keeper, keeper.register()["id"]) == [[]]

    @pytest.mark.parametrize(("limit", "sizes"), [(None, [50, 5]), (55, [55]), (54, [54, 1]), (1, [1] * 55)])
    def test_comes_in_pages_the_newest_first(self, keeper: Keeper, limit: int | None, sizes: list[int]) -> None:
        made = keeper.register()
        ids = fill(made, 55)
        pages = walk(keeper, made["id"], **({} if limit is None else {"limit": limit}))
        assert [len(page) for page in pages] == sizes
        assert [one for page in pages for one in page] == ids

    def test_goes_on_where_it_was_whatever_comes(self, keeper: Keeper) -> None:
        made = keeper.register()
        ids = fill(made, 4)
        first = keeper.get(f"/webhooks/{made['id']}/deliveries", params={"limit": 2}).json()
        fill(made, 3, state="failed")
        Delivery.objects.filter(uuid=ids[1]).delete()
        rest = keeper.deliveries(made["id"], cursor=first["next_cursor"])
        assert [one["id"] for one in rest] == ids[2:]

    def test_is_of_one_webhook(self, keeper: Keeper) -> None:
        first, second = keeper.register(), keeper.register()
        ids = fill(first, 2)
        fill(second, 2)
        assert walk(keeper, first["id"]) == [ids]

    @pytest.mark.parametrize("state", Delivery.State.values)
    def test_can_be_of_one_state(self, keeper: Keeper, state: str) -> None:
        made = keeper.register()
        ids = {state: fill(made, 3, state=state) for state in Delivery.State.values}
        assert walk(keeper, made["id"], state=state, limit=2) == [ids[state][:2], ids[state][2:]]

    def test_asks_the_database_no_more_for_many(self, keeper: Keeper, django_assert_num_queries: Any) -> None:
        made = keeper.register()
        fill(made, 50)
        with django_assert_num_queries(4):
            keeper.deliveries(made["id"])


class TestInput(LadderOfOne):
    method: ClassVar[str] = "GET"
    path: ClassVar[str] = "/webhooks/{webhook}/deliveries"

    @pytest.mark.parametrize("limit", ["", "0", "201", "-1", "1.0", "a", "\u0661", "1e1", "9" * 400])
    def test_bad_limit(self, keeper: Keeper, limit: str) -> None:
        answer = keeper.get(f"/webhooks/{keeper.register()['id']}/deliveries", params={"limit": limit})
        assert told(answer) == (400, "invalid_input")
        assert "limit" in answer.json()["details"]

    @pytest.mark.parametrize("state", ["", "lost", "Failed", "pending "])
    def test_bad_state(self, keeper: Keeper, state: str) -> None:
        answer = keeper.get(f"/webhooks/{keeper.register()['id']}/deliveries", params={"state": state})
        assert told(answer) == (400, "invalid_input")
        assert "state" in answer.json()["details"]

    def test_bad_cursor(self, keeper: Keeper, outsider: Keeper) -> None:
        made, other, theirs = keeper.register(), keeper.register(), outsider.register()
        for one in (made, other, theirs):
            fill(one, 2)

        def cursor_of(whose: Keeper, one: dict[str, Any]) -> str:
            answer = whose.get(f"/webhooks/{one['id']}/deliveries", params={"limit": 1})
            cursor: str = answer.json()["next_cursor"]
            return cursor

        right = cursor_of(keeper, made)
        assert keeper.deliveries(made["id"], cursor=right)
        wrong = [
            "",
            "1",
            right[:-1],
            right + "A",
            right + "=",
            right.swapcase(),
            cursor_of(keeper, other),
            cursor_of(outsider, theirs),
            cursors.seal("locks", "1"),
            "\u00e9" * 40,
        ]
        for cursor in wrong:
            answer = keeper.get(f"/webhooks/{made['id']}/deliveries", params={"cursor": cursor})
            assert told(answer) == (400, "invalid_input"), cursor
            assert "cursor" in answer.json()["details"]
