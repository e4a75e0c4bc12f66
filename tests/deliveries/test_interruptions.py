"""A broker that forgets or goes, a backlog, and more schedulers than one: nothing is lost or sent twice."""

from __future__ import annotations

import threading
import time
from collections.abc import Iterator
from contextlib import contextmanager

from tests.deliveries.cast import RECOVERY_SECONDS, Customer
from tests.deliveries.plant import Plant

PAIRS = 75


@contextmanager
def changing(customer: Customer, pairs: int) -> Iterator[None]:
    """Somebody takes and gives back so many locks meanwhile."""
    doing = threading.Thread(target=customer.change, args=(pairs,))
    doing.start()
    try:
        yield
    finally:
        doing.join(RECOVERY_SECONDS)
        assert not doing.is_alive()


def test_a_flushed_broker_loses_nothing(customer: Customer, plant: Plant) -> None:
    customer.hook()
    with changing(customer, PAIRS):
        for _ in range(5):
            time.sleep(0.3)
            with plant.valkey.client() as client:
                client.flushall()
    assert customer.settles()
    assert customer.violations() == []


def test_a_broker_that_was_away_delays_and_loses_nothing(customer: Customer, plant: Plant) -> None:
    customer.hook()
    plant.valkey.stop()
    began_at = time.monotonic()
    customer.change(10)
    assert time.monotonic() - began_at < 10
    plant.valkey.start()
    assert customer.settles()
    assert customer.violations() == []


def test_a_backlog_is_sent_when_somebody_sends_again(customer: Customer, plant: Plant) -> None:
    plant.sender.stop()
    hook = customer.hook()
    customer.change(PAIRS)
    assert hook.ledger.calls == []
    plant.sender.start()
    assert customer.settles()
    assert customer.violations() == []


def test_three_schedulers_send_nothing_twice(customer: Customer, plant: Plant) -> None:
    others = [plant.another_scheduler(f"scheduler-{number}") for number in (2, 3)]
    with others[0], others[1]:
        customer.hook()
        customer.hook(pattern="lock-*")
        customer.change(PAIRS)
        assert customer.settles()
    assert customer.violations() == []
