"""Who may make an attempt, and how many at once: judged under the team's lock, kept in SQL."""

from __future__ import annotations

import socket
import threading
from collections import Counter
from collections.abc import Iterator
from contextlib import contextmanager
from datetime import timedelta
from typing import Any

import pytest
from django.utils import timezone
from pytest_django.fixtures import Settings

from octostore.lib.outbound import Answer
from tests.leases.threads import beside, together
from tests.locks.cast import Worker
from tests.webhooks.cast import (
    Keeper,
    attempt_next,
    become_due,
    begin_and_die,
    calls,
    due,
    endpoint_of,
    only_delivery,
    send,
)
from tests.webhooks.receivers import Behaviour, Receiver, answering, receiving
from webhooks import fanning
from webhooks.claiming import claim_due
from webhooks.models import Attempt, Delivery, Endpoint
from webhooks.recording import SLOW, Ended, record

pytestmark = pytest.mark.usefixtures("private")


def prove(*made: dict[str, Any]) -> None:
    """As if a call to each had succeeded."""
    Endpoint.objects.filter(uuid__in=[one["id"] for one in made]).update(last_success_at=timezone.now())


def owe(made: dict[str, Any], count: int) -> None:
    endpoint = endpoint_of(made)
    start = Delivery.objects.count()
    Delivery.objects.bulk_create(
        Delivery(endpoint=endpoint, message_id=f"msg_{n}", kind="acquired", lock="a", body="{}")
        for n in range(start, start + count)
    )


def claim(made: dict[str, Any]) -> bool:
    return bool(claim_due(at_most=1, endpoint_id=endpoint_of(made).pk))


def claimed() -> Counter[str]:
    """How many attempts each endpoint has in flight."""
    return Counter(str(one.endpoint.uuid) for one in Delivery.objects.exclude(claimed_until=None))


class TestAnEndpoint:
    def test_has_eight_attempts_in_flight_once_a_call_succeeded(self, keeper: Keeper) -> None:
        made = keeper.register()
        owe(made, 20)
        prove(made)
        assert sum(together(12, lambda _: claim(made))) == 8
        assert claimed() == {made["id"]: 8}

    def test_has_one_until_a_call_succeeded(self, keeper: Keeper) -> None:
        made = keeper.register()
        owe(made, 20)
        assert sum(together(6, lambda _: claim(made))) == 1

    def test_has_one_while_calls_fail(self, keeper: Keeper) -> None:
        made = keeper.register()
        owe(made, 20)
        prove(made)
        Endpoint.objects.update(failing_since=timezone.now())
        assert sum(together(6, lambda _: claim(made))) == 1

    def test_has_no_attempt_made_twice(self, keeper: Keeper) -> None:
        made = keeper.register()
        owe(made, 5)
        prove(made)
        together(8, lambda _: claim(made))
        assert sorted(Attempt.objects.values_list("number", flat=True)) == [1] * 5

    def test_gets_room_when_a_claim_is_over(self, keeper: Keeper) -> None:
        made = keeper.register()
        owe(made, 2)
        begin_and_die(made)
        assert not claim(made)
        Delivery.objects.update(claimed_until=timezone.now())
        assert claim(made)

    def test_counts_what_was_cancelled_while_in_flight(self, keeper: Keeper, settings: Settings) -> None:
        """Switching off and on again makes no room for more calls to who does not answer."""
        made = keeper.register()
        owe(made, 3)
        begin_and_die(made)
        keeper.change(made["id"], active=False)
        keeper.change(made["id"], active=True)
        owe(made, 3)
        assert not claim(made)


class TestATeam:
    def test_has_sixteen_attempts_in_flight(self, keeper: Keeper, outsider: Keeper) -> None:
        mine = [keeper.register() for _ in range(3)]
        theirs = outsider.register()
        for one in (*mine, theirs):
            owe(one, 10)
        prove(*mine, theirs)
        assert sum(together(16, lambda number: sum(claim(mine[(number + n) % 3]) for n in range(2)))) == 16
        assert sum(claimed().values()) == 16
        assert max(claimed().values()) <= 8
        assert claim(theirs)

    def test_waits_for_no_endpoint_with_the_first_of_another(self, keeper: Keeper) -> None:
        """Two that fall silent at once do not keep the third from being called."""
        silent, other = [keeper.register() for _ in range(2)], keeper.register()
        for one in (*silent, other):
            owe(one, 10)
        prove(*silent, other)
        assert sum(claim(one) for one in silent for _ in range(10)) == 16
        assert claim(other)
        assert not claim(other)

    def test_is_offered_no_more_than_that(self, keeper: Keeper, outsider: Keeper) -> None:
        mine = [keeper.register() for _ in range(4)]
        theirs = outsider.register()
        for one in (*mine, theirs):
            owe(one, 10)
        prove(*mine[1:])

        def offered(*among: dict[str, Any]) -> list[int]:
            places = Counter(due())
            return sorted(places[endpoint_of(one).pk] for one in among)

        assert offered(mine[0], theirs) == [1, 1]
        # Which of them gets how much is left to chance; each has its first.
        given = offered(*mine)
        assert min(given) == 1
        assert max(given) == 8
        assert 16 <= sum(given) <= 18
        begin_and_die(mine[1])
        assert 15 <= sum(offered(*mine)) <= 17


class TestAllThatFail:
    def test_have_half_of_the_threads_together(self, keeper: Keeper, outsider: Keeper, settings: Settings) -> None:
        settings.WEBHOOK_THREADS = 4
        failing = [keeper.register(), outsider.register(), outsider.register()]
        works = keeper.register()
        for one in (*failing, works):
            owe(one, 3)
        prove(works)
        assert sum(claim(one) for one in failing for _ in range(2)) == 2
        assert claim(works)
        Delivery.objects.update(claimed_until=timezone.now())
        assert claim(failing[-1])


class TestAllThatAnswerSlowly:
    def test_share_those_threads_and_have_their_several_attempts(
        self, keeper: Keeper, outsider: Keeper, settings: Settings
    ) -> None:
        """Else a few that take long leave no thread to anybody."""
        settings.WEBHOOK_THREADS = 12
        slow, fails, works = keeper.register(), keeper.register(), outsider.register()
        for one in (slow, fails, works):
            owe(one, 10)
        prove(slow, works)
        assert claim(fails)
        (call,) = claim_due(at_most=1, endpoint_id=endpoint_of(slow).pk)
        took = Answer(status=200, retry_after=None, text="", took=SLOW + timedelta(seconds=1))
        record([Ended(claim=call, outcome=took)])
        assert sum(claim(slow) for _ in range(10)) == 5
        assert sum(claim(works) for _ in range(10)) == 8

    def test_are_like_others_once_they_answer_at_once(self, keeper: Keeper, settings: Settings) -> None:
        settings.WEBHOOK_THREADS = 4
        made = keeper.register()
        owe(made, 12)
        prove(made)
        for took, count in ((SLOW * 2, 2), (SLOW, 8)):
            (call,) = claim_due(at_most=1, endpoint_id=endpoint_of(made).pk)
            record([Ended(claim=call, outcome=Answer(status=200, retry_after=None, text="", took=took))])
            assert sum(claim(made) for _ in range(10)) == count
            Delivery.objects.update(claimed_until=timezone.now())


class TestDue:
    def test_is_what_waits_and_is_not_claimed(self, keeper: Keeper) -> None:
        made = keeper.register()
        owe(made, 1)
        assert due() == [endpoint_of(made).pk]
        begin_and_die(made)
        assert due() == []
        Delivery.objects.update(claimed_until=timezone.now() - timedelta(seconds=1))
        assert due() == [endpoint_of(made).pk]

    def test_is_not_what_is_scheduled_for_later(self, keeper: Keeper) -> None:
        made = keeper.register()
        owe(made, 1)
        Delivery.objects.update(due_at=timezone.now() + timedelta(minutes=1))
        assert due() == []
        assert not attempt_next(endpoint_of(made).pk)

    @pytest.mark.parametrize("state", ["delivered", "failed", "cancelled"])
    def test_is_not_what_is_over(self, keeper: Keeper, state: str) -> None:
        made = keeper.register()
        owe(made, 1)
        Delivery.objects.update(state=state)
        assert due() == []
        assert not attempt_next(endpoint_of(made).pk)

    def test_goes_in_the_order_in_which_it_became_due(self, keeper: Keeper, receiver: Receiver) -> None:
        made = keeper.register(receiver.url())
        owe(made, 3)
        now = timezone.now()
        for number, minutes in enumerate((2, 3, 1)):
            Delivery.objects.filter(message_id=f"msg_{number}").update(due_at=now - timedelta(minutes=minutes))
        send()
        assert [call.id for call in calls(receiver)] == ["msg_1", "msg_0", "msg_2"]

    def test_is_first_what_was_asked_for_by_hand(self, keeper: Keeper, receiver: Receiver) -> None:
        """Who looks for a fault at night does not wait for a queue that is as old as the fault."""
        made = keeper.register(receiver.url())
        owe(made, 5)
        tried = keeper.try_out(made["id"])
        keeper.redeliver(made["id"], str(Delivery.objects.get(message_id="msg_3").uuid))
        send()
        assert {call.id for call in calls(receiver)[:2]} == {tried["message_id"], "msg_3"}
        assert [call.id for call in calls(receiver)[2:]] == ["msg_0", "msg_1", "msg_2", "msg_4"]

    def test_of_an_endpoint_that_is_no_more_is_nothing(self, keeper: Keeper) -> None:
        made = keeper.register()
        owe(made, 1)
        number = endpoint_of(made).pk
        keeper.remove(made["id"])
        assert not attempt_next(number)
        Endpoint.objects.all().delete()
        assert not attempt_next(number)


@contextmanager
def held_open(
    first: Behaviour, others: Behaviour | None = None
) -> Iterator[tuple[Receiver, threading.Event, threading.Event]]:
    """A receiver that says when its first call has come, answers that once it is let, and `others` at once."""
    has_come, may_answer = threading.Event(), threading.Event()

    def behave(connection: socket.socket, request: bytes) -> None:
        if has_come.is_set():
            (others or first)(connection, request)
            return
        has_come.set()
        assert may_answer.wait(10)
        first(connection, request)

    with receiving(behave) as receiver:
        yield receiver, has_come, may_answer


class TestASlowReceiver:
    def test_is_asked_one_at_a_time_until_it_answers(self, keeper: Keeper) -> None:
        with held_open(answering()) as (receiver, has_come, may_answer):
            made = keeper.register(receiver.url())
            owe(made, 3)
            with beside(lambda: attempt_next(endpoint_of(made).pk)) as first:
                assert has_come.wait(10)
                assert not claim(made)
                assert not first.done()
                may_answer.set()
            assert sum(claim(made) for _ in range(3)) == 2

    def test_holds_no_transaction_and_no_other_endpoint(self, keeper: Keeper, receiver: Receiver) -> None:
        with held_open(answering()) as (slow, has_come, may_answer):
            made, other = keeper.register(slow.url()), keeper.register(receiver.url())
            owe(made, 1)
            owe(other, 1)
            with beside(lambda: attempt_next(endpoint_of(made).pk)):
                assert has_come.wait(10)
                assert attempt_next(endpoint_of(other).pk)
                keeper.change(made["id"], events=["expired"])
                may_answer.set()


class TestSuperseded:
    """The claim was over before the call: another process made the next attempt meanwhile."""

    def superseded(self, keeper: Keeper, worker: Worker, *, first: str, second: str) -> Delivery:
        """The delivery after the first call was answered `first`, and while it lasted the second `second`."""
        with held_open(answering(first), answering(second)) as (receiver, has_come, may_answer):
            made = keeper.register(receiver.url())
            worker.hold("a")
            fanning.fan_out()
            number = endpoint_of(made).pk
            with beside(lambda: attempt_next(number)):
                assert has_come.wait(10)
                become_due()
                assert attempt_next(number)
                may_answer.set()
            assert len({(call.id, call.raw) for call in calls(receiver)}) == 1
            assert len(receiver.requests) == 2
        numbers = Attempt.objects.order_by("number").values_list("number", "status")
        assert list(numbers) == [(1, int(first[:3])), (2, int(second[:3]))]
        return only_delivery()

    def test_by_a_success_its_failure_changes_nothing(self, keeper: Keeper, worker: Worker) -> None:
        assert self.superseded(keeper, worker, first="500 Oops", second="200 OK").state == "delivered"

    def test_by_a_failure_its_success_counts(self, keeper: Keeper, worker: Worker) -> None:
        assert self.superseded(keeper, worker, first="200 OK", second="500 Oops").state == "delivered"

    def test_by_a_failure_its_failure_changes_no_schedule(self, keeper: Keeper, worker: Worker) -> None:
        delivery = self.superseded(keeper, worker, first="500 Oops", second="500 Oops")
        assert (delivery.state, delivery.round_made) == ("pending", 2)
        wait = delivery.due_at - timezone.now()
        assert timedelta(seconds=28) < wait < timedelta(seconds=36)

    def test_its_gone_switches_nothing_off(self, keeper: Keeper, worker: Worker) -> None:
        self.superseded(keeper, worker, first="410 Gone", second="200 OK")
        assert Endpoint.objects.get().is_active


class TestAKilledWorker:
    def test_costs_one_attempt_and_loses_nothing(self, keeper: Keeper, worker: Worker, receiver: Receiver) -> None:
        made = keeper.register(receiver.url())
        worker.hold("a")
        fanning.fan_out()
        before = timezone.now()
        begin_and_die(made)
        claimed_until = only_delivery().claimed_until
        assert claimed_until
        assert timedelta(seconds=20) < claimed_until - before < timedelta(seconds=60)
        assert send() == 0
        Delivery.objects.update(claimed_until=timezone.now())
        assert send() == 1
        assert only_delivery().state == "delivered"

    def test_at_the_last_attempt_ends_the_delivery(self, keeper: Keeper, worker: Worker, receiver: Receiver) -> None:
        made = keeper.register(receiver.url())
        worker.hold("a")
        fanning.fan_out()
        Delivery.objects.update(round_made=8)
        begin_and_die(made)
        become_due()
        assert send() == 0
        assert only_delivery().state == "failed"
        assert due() == []

    def test_a_claim_shows_no_secret_and_no_url(self, keeper: Keeper, worker: Worker) -> None:
        made = keeper.register()
        worker.hold("canary-lock")
        fanning.fan_out()
        text = repr(begin_and_die(made))
        assert made["secret"] not in text
        assert "canary" not in text
        assert "v1," not in text
