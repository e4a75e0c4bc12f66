"""What dies on the way of an event loses nothing, and costs one more call for each kill at most."""

from __future__ import annotations

import random
import threading
import time
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path

import httpx
import pytest

from tests.deliveries.cast import RECOVERY_SECONDS, Customer, let_claims_pass, prove
from tests.deliveries.plant import Plant, running_plant

PAIRS = 75
KILLS = 10


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


def kill_sender(plant: Plant) -> float:
    """Kill it, start it again as its manager would, and let the claims it held run out at once."""
    plant.sender.kill()
    killed_at = time.time()
    let_claims_pass()
    plant.sender.start()
    return killed_at


def kills(customer: Customer, plant: Plant, *, pairs: int, times: int) -> list[float]:
    """The sender dies so many times at random while so many pairs of events are on their way."""
    hook = customer.hook()
    prove(hook)
    killed_at = []
    with changing(customer, pairs):
        for _ in range(times):
            time.sleep(random.uniform(0, 0.5))
            killed_at.append(kill_sender(plant))
    assert customer.settles()
    assert len(hook.ledger.events()) == 2 * pairs
    return killed_at


def test_killed_senders_lose_nothing(customer: Customer, plant: Plant) -> None:
    killed_at = kills(customer, plant, pairs=PAIRS, times=KILLS)
    assert customer.violations(killed_at=killed_at) == []


@pytest.mark.soak
def test_a_hundred_killed_senders_lose_nothing(customer: Customer, plant: Plant) -> None:
    killed_at = kills(customer, plant, pairs=1000, times=100)
    assert customer.violations(killed_at=killed_at) == []


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


def test_a_killed_scheduler_delays_and_loses_nothing(customer: Customer, plant: Plant) -> None:
    customer.hook()
    with changing(customer, 20):
        plant.scheduler.kill()
    plant.scheduler.start()
    assert customer.settles()
    assert customer.violations() == []


def test_what_a_web_process_answered_before_it_died_is_delivered(
    transactional_db: None, database_url: str, tmp_path: Path
) -> None:
    with running_plant(tmp_path, database_url) as plant, Customer(plant.web) as customer:
        customer.hook()
        for number in range(5):
            customer.worker.hold(f"lock-{number}", ttl_seconds=60)
            plant.web.kill()
            plant.web.start()
            with suppress(httpx.TransportError):
                # The connection of the one that died.
                customer.worker.get("/health")
        assert customer.settles()
        assert len(customer.hooks[0].ledger.events()) == 5
        assert customer.violations() == []
