"""What follows an attempt: done, tried again on schedule, given up."""

from __future__ import annotations

from datetime import UTC, datetime, timedelta
from email.utils import format_datetime
from types import SimpleNamespace
from typing import Any

import pytest
from django.utils import timezone

from tests.locks.cast import Worker
from tests.webhooks.cast import Keeper, become_due, calls, due, endpoint_of, in_turn, only_delivery, send
from tests.webhooks.receivers import Behaviour, answering, receiving, resetting, saying
from webhooks import recording, schedule
from webhooks.models import Attempt, Delivery, Endpoint

pytestmark = pytest.mark.usefixtures("private")


@pytest.fixture(autouse=True)
def without_jitter(monkeypatch: pytest.MonkeyPatch) -> None:
    """Chance has tests of its own (test_schedule)."""
    monkeypatch.setattr(recording, "random", SimpleNamespace(random=lambda: 0.0))


def wait() -> timedelta:
    """From the end of the last attempt to the next."""
    last = Attempt.objects.order_by("number").last()
    assert last
    assert last.took_ms is not None
    ended_at = last.began_at + timedelta(milliseconds=last.took_ms)
    # What writing it down took is forgiven.
    return only_delivery().due_at - ended_at


def one_event(keeper: Keeper, worker: Worker, behaviour: Behaviour) -> dict[str, Any]:
    """The delivery after one attempt at such a receiver."""
    with receiving(behaviour) as receiver:
        made = keeper.register(receiver.url())
        worker.hold("a")
        assert send() == 1
    return keeper.delivery(made["id"])


class TestTheSchedule:
    def test_is_nine_attempts_in_a_day_and_a_half(self, keeper: Keeper, worker: Worker) -> None:
        waits = []
        with receiving(answering("500 Oops")) as receiver:
            made = keeper.register(receiver.url())
            worker.hold("a")
            while True:
                assert send() == 1
                if only_delivery().state != "pending":
                    break
                waits.append(wait())
                become_due()
            assert len(receiver.requests) == 9
        seconds = [5, 30, 120, 600, 3600, 4 * 3600, 12 * 3600, 24 * 3600]
        assert [round(one.total_seconds()) for one in waits] == seconds
        seen = keeper.delivery(made["id"])
        assert (seen["state"], seen["next_attempt_at"]) == ("failed", None)
        assert [one["number"] for one in seen["attempts"]] == list(range(1, 10))
        assert send() == 0

    def test_ends_with_the_first_success(self, keeper: Keeper, worker: Worker) -> None:
        with receiving(in_turn(answering("500 Oops"), answering("500 Oops"), answering("204 Done"))) as receiver:
            keeper.register(receiver.url())
            worker.hold("a")
            for _ in range(5):
                send()
                become_due()
            assert len({call.id for call in calls(receiver)}) == 1
            assert len(receiver.requests) == 3
        assert only_delivery().state == "delivered"

    def test_is_made_at_its_instants_and_not_before(self, keeper: Keeper, worker: Worker) -> None:
        one_event(keeper, worker, answering("500 Oops"))
        due_at = only_delivery().due_at
        Delivery.objects.update(due_at=timezone.now() + timedelta(seconds=1))
        assert due() == []
        Delivery.objects.update(due_at=min(due_at, timezone.now()))
        assert due() == [only_delivery().endpoint_id]


class TestAnAnswer:
    @pytest.mark.parametrize("status", ["200 OK", "201 Made", "202 Later", "204 Done", "299 Odd"])
    def test_of_2xx_is_success(self, keeper: Keeper, worker: Worker, status: str) -> None:
        seen = one_event(keeper, worker, saying(f"HTTP/1.1 {status}\r\n\r\n".encode()))
        assert (seen["state"], seen["attempts"][0]["error"]) == ("delivered", None)

    @pytest.mark.parametrize("status", [300, 400, 401, 403, 404, 408, 409, 413, 422, 429, 500, 502, 503, 504])
    def test_of_anything_else_is_tried_again(self, keeper: Keeper, worker: Worker, status: int) -> None:
        seen = one_event(keeper, worker, saying(f"HTTP/1.1 {status} No\r\n\r\n".encode()))
        assert (seen["state"], seen["attempts"][0]["status"]) == ("pending", status)
        assert round(wait().total_seconds()) == 5
        assert seen["attempts"][0]["error"] == ("redirect" if status == 300 else "status")

    @pytest.mark.parametrize("status", [301, 302, 303, 307, 308])
    def test_of_a_redirect_is_followed_by_nobody(self, keeper: Keeper, worker: Worker, status: int) -> None:
        with receiving(answering()) as inside:
            redirect = answering(f"{status} There", f"Location: {inside.url()}")
            seen = one_event(keeper, worker, redirect)
            assert inside.requests == []
        attempt = seen["attempts"][0]
        assert (seen["state"], attempt["status"], attempt["error"]) == ("pending", status, "redirect")

    def test_that_never_comes_is_tried_again(self, keeper: Keeper, worker: Worker) -> None:
        seen = one_event(keeper, worker, resetting)
        attempt = seen["attempts"][0]
        assert (seen["state"], attempt["status"], attempt["error"]) == ("pending", None, "reset")
        assert attempt["response"] is None

    def test_of_an_address_that_is_closed_by_now_is_tried_again(
        self, keeper: Keeper, worker: Worker, settings: Any
    ) -> None:
        with receiving(answering()) as receiver:
            made = keeper.register(receiver.url())
            worker.hold("a")
            settings.WEBHOOK_ALLOW_PRIVATE = False
            send()
            assert receiver.connections == 0
        seen = keeper.delivery(made["id"])
        assert (seen["state"], seen["attempts"][0]["error"]) == ("pending", "url_refused")


class TestRetryAfter:
    @pytest.mark.parametrize("status", ["429 Slow", "503 Busy"])
    @pytest.mark.parametrize(("text", "seconds"), [("30", 30), ("7200", 7200), ("1", 5), ("999999999", 86_400)])
    def test_of_seconds_is_kept(self, keeper: Keeper, worker: Worker, status: str, text: str, seconds: int) -> None:
        one_event(keeper, worker, answering(status, f"Retry-After: {text}"))
        assert round(wait().total_seconds()) == seconds

    def test_of_a_date_is_kept(self, keeper: Keeper, worker: Worker) -> None:
        date = (datetime.now(UTC) + timedelta(hours=2)).replace(microsecond=0)
        one_event(keeper, worker, answering("503 Busy", f"Retry-After: {format_datetime(date, usegmt=True)}"))
        assert abs(only_delivery().due_at - date) < timedelta(seconds=1)

    @pytest.mark.parametrize("status", ["500 Oops", "400 Bad"])
    def test_of_other_answers_is_not_asked(self, keeper: Keeper, worker: Worker, status: str) -> None:
        one_event(keeper, worker, answering(status, "Retry-After: 7200"))
        assert round(wait().total_seconds()) == 5

    @pytest.mark.parametrize("text", ["soon", "-1", "", "1.5", "99 99"])
    def test_that_says_nothing_leaves_the_schedule(self, keeper: Keeper, worker: Worker, text: str) -> None:
        one_event(keeper, worker, answering("503 Busy", f"Retry-After: {text}"))
        assert round(wait().total_seconds()) == 5

    def test_makes_no_more_attempts(self, keeper: Keeper, worker: Worker) -> None:
        with receiving(answering("429 Slow", "Retry-After: 1")) as receiver:
            keeper.register(receiver.url())
            worker.hold("a")
            for _ in range(12):
                send()
                become_due()
            assert len(receiver.requests) == schedule.ATTEMPTS


class TestAnEndpointsHealth:
    def test_is_told_by_its_attempts(self, keeper: Keeper, worker: Worker) -> None:
        with receiving(in_turn(answering("500 Oops"), resetting, answering(), answering("500 Oops"))) as receiver:
            made = keeper.register(receiver.url())
            worker.hold("a")
            send()
            failing_since = endpoint_of(made).failing_since
            assert failing_since
            become_due()
            send()
            # Since the first failure, not the last.
            assert endpoint_of(made).failing_since == failing_since
            assert endpoint_of(made).last_success_at is None
            become_due()
            send()
            assert endpoint_of(made).failing_since is None
            succeeded_at = endpoint_of(made).last_success_at
            assert succeeded_at
            worker.hold("b")
            send()
            assert endpoint_of(made).failing_since
            assert endpoint_of(made).last_success_at == succeeded_at

    def test_is_its_own(self, keeper: Keeper, worker: Worker) -> None:
        with receiving(answering("500 Oops")) as bad, receiving(answering()) as good:
            keeper.register(bad.url())
            healthy = keeper.register(good.url())
            worker.hold("a")
            assert send() == 2
        assert Endpoint.objects.exclude(failing_since=None).count() == 1
        assert endpoint_of(healthy).failing_since is None
