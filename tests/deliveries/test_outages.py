"""Broker, workers and schedulers away, or too many of them: the API answers on, and all arrives afterwards (G7, I9)."""

from __future__ import annotations

import socket
import statistics
import threading
import time
from collections.abc import Callable
from contextlib import ExitStack
from pathlib import Path
from uuid import uuid4

import pytest
from celery import current_app
from pytest_django.fixtures import Settings

from octostore.celery import app
from octostore.leases.models import OwedEvent
from octostore.leases.signals import lease_changed
from tests.deliveries.cast import Customer, change
from tests.deliveries.ledger import Ledger
from tests.deliveries.plant import Plant
from tests.leases.outside import outside
from tests.processes import Web
from tests.server.service import wait_until
from tests.valkey import Valkey
from tests.webhooks.receivers import answering
from webhooks.models import Delivery
from webhooks.nudging import Nudges

BEHIND = 200
# Per queue: one that waits, and what schedulers and web processes add in the same instant.
MESSAGES_MAX = 10


def seconds_of_changes(customer: Customer, count: int) -> list[float]:
    """How long the service took to answer each acquire and release together."""
    took = []
    for _ in range(count):
        began = time.monotonic()
        # Of a name that changes hands too often the first events are forgotten.
        change(customer.worker, uuid4().hex)
        took.append(time.monotonic() - began)
    return took


class TestBroker:
    def test_that_forgets_everything_loses_no_event(self, plant: Plant, customer: Customer) -> None:
        customer.hook()
        with plant.valkey.client() as client:
            for _ in range(10):
                customer.change(5)
                client.flushall()
        assert customer.settles()
        assert customer.violations() == []

    @pytest.mark.parametrize("seconds", [10, pytest.param(60, marks=pytest.mark.soak)])
    def test_that_is_away_delays_events_and_no_answer(self, plant: Plant, customer: Customer, seconds: int) -> None:
        customer.hook()
        before = statistics.median(seconds_of_changes(customer, 30))
        plant.valkey.stop()
        back_at = time.monotonic() + seconds
        took = []
        while time.monotonic() < back_at:
            took += seconds_of_changes(customer, 5)
            time.sleep(0.2)
        plant.valkey.start()
        assert statistics.median(took) < 3 * before + 0.05
        assert customer.settles()
        assert customer.violations() == []

    def test_that_hangs_delays_events_and_no_answer(self, plant: Plant, customer: Customer) -> None:
        """Nobody may wait for it while answering; elsewhere waits are bounded."""
        customer.hook()
        before = statistics.median(seconds_of_changes(customer, 30))
        plant.valkey.pause()
        took = seconds_of_changes(customer, 30)
        time.sleep(2)
        plant.valkey.resume()
        assert statistics.median(took) < 3 * before + 0.05
        assert customer.settles()
        assert customer.violations() == []


class TestAMessage:
    def test_may_be_done_with_when_the_connection_it_came_on_is_gone(self, tmp_path: Path) -> None:
        """Where that is an error, the worker ends of it."""
        with Valkey(tmp_path) as valkey, app.connection_for_read(url=valkey.url) as connection:
            queue = connection.SimpleQueue("default")
            queue.put({})
            message = queue.get(timeout=5)
            connection.close()
            message.ack()

    def test_that_was_given_out_leaves_nothing_behind(self, tmp_path: Path) -> None:
        with Valkey(tmp_path) as valkey, app.connection_for_read(url=valkey.url) as connection:
            queue = connection.SimpleQueue("default")
            queue.put({})
            queue.get(timeout=5)
            with valkey.client() as client:
                assert not list(client.scan_iter("unacked*"))


class TestWorkers:
    def test_away_leave_no_backlog_of_messages(self, plant: Plant, customer: Customer) -> None:
        customer.hook()
        plant.sender.stop()
        plant.scheduler.stop()
        customer.change(BEHIND // 2)
        assert OwedEvent.objects.count() >= BEHIND
        with plant.valkey.client() as client:
            lengths = {queue: client.llen(queue) for queue in ("sweep", "default", "deliveries")}
        plant.scheduler.start()
        plant.sender.start()
        assert max(lengths.values()) <= MESSAGES_MAX, lengths
        assert customer.settles()
        assert customer.violations() == []

    def test_of_deliveries_away_keep_nobody_else_from_work(self, plant: Plant, customer: Customer) -> None:
        hook = customer.hook()
        plant.sender.kill()
        customer.change(BEHIND // 2)
        assert wait_until(lambda: hook.deliveries.count() == BEHIND, seconds=60)
        time.sleep(2)
        with plant.valkey.client() as client:
            assert client.llen("deliveries") <= MESSAGES_MAX
        plant.sender.start()
        assert customer.settles()
        assert customer.violations() == []

    def test_that_are_stopped_end_what_they_began(self, plant: Plant, customer: Customer) -> None:
        """A restart costs no call more."""

        def slow(connection: socket.socket, request: bytes) -> None:
            time.sleep(1)
            answering()(connection, request)

        hook = customer.hook(Ledger(slow))
        customer.change(3)
        assert wait_until(lambda: len(hook.ledger.calls) > 0)
        assert plant.sender.stop() == 0
        assert not hook.attempts.filter(took_ms=None).exists()
        assert hook.deliveries.filter(state=Delivery.State.PENDING).exists()
        plant.sender.start()
        assert customer.settles()
        assert customer.violations() == []


class TestSchedulers:
    def test_three_at_once_make_each_attempt_once(self, plant: Plant, customer: Customer) -> None:
        hook = customer.hook()
        with ExitStack() as stack:
            for number in (2, 3):
                stack.enter_context(plant.another_scheduler(f"scheduler-{number}"))
            customer.change(BEHIND // 2)
            assert customer.settles()
        assert customer.violations() == []
        assert hook.attempts.count() == BEHIND


@pytest.mark.only("sqlite")  # what befalls PostgreSQL has tests of its own
def test_a_file_that_others_hold_costs_no_call_more(plant: Plant, customer: Customer) -> None:
    """What came of a call is written down as soon as it can be."""
    may_answer = threading.Event()

    def behave(connection: socket.socket, request: bytes) -> None:
        assert may_answer.wait(10)
        answering()(connection, request)

    hook = customer.hook(Ledger(behave), events=["acquired"])
    customer.worker.hold("lock")
    assert wait_until(lambda: len(hook.ledger.calls) == 1)
    with outside() as execute:
        execute("BEGIN IMMEDIATE", ())
        may_answer.set()
        assert wait_until(lambda: "outcomes_wait" in plant.sender.output(), seconds=20)
        execute("ROLLBACK", ())
    assert customer.settles()
    assert customer.violations() == []
    assert hook.attempts.get().status == 200


class TestALoneWebProcess:
    """Without REDIS_URL."""

    def test_says_nothing_to_nobody(self, settings: Settings) -> None:
        settings.REDIS_URL = ""
        nudges = Nudges()
        lease_changed.connect(nudges.hear)
        try:
            for _ in range(10):
                lease_changed.send_robust(sender=None, space="locks/team", name="lock")
        finally:
            lease_changed.disconnect(nudges.hear)
        assert nudges._thread is None
        with current_app.connection_for_write(url="memory://") as connection:
            assert connection.default_channel._size("default") == 0

    def test_owes_what_a_worker_delivers_later(
        self, plant: Plant, customer: Customer, start_web: Callable[..., Web]
    ) -> None:
        hook = customer.hook()
        alone = start_web(OCTOSTORE_WEBHOOK_ALLOW_PRIVATE="1")
        customer.worker.base_url = alone.url
        customer.change(10)
        assert customer.settles(seconds=20)
        assert customer.violations() == []
        assert len(hook.ledger.calls) == 20
