"""kill -9 of whatever delivers: every committed event arrives, with one call more for each kill at most (G7, I9)."""

from __future__ import annotations

import random
import socket
import time
from concurrent.futures import ThreadPoolExecutor

import psutil
import pytest

from octostore.leases.models import OwedEvent
from tests.deliveries.cast import Customer, let_claims_pass, prove
from tests.deliveries.ledger import Ledger
from tests.deliveries.plant import Plant
from tests.server.service import wait_until
from tests.webhooks.receivers import answering


def slow(connection: socket.socket, request: bytes) -> None:
    """Answers after a moment, so that many calls are under way at once."""
    time.sleep(random.uniform(0, 0.1))
    answering()(connection, request)


def kill_sender(plant: Plant) -> float:
    """When it was killed."""
    plant.sender.kill()
    killed_at = time.time()
    let_claims_pass()
    return killed_at


@pytest.mark.parametrize(
    ("events", "kills"), [(300, 10), pytest.param(2000, 100, marks=pytest.mark.soak)], ids=["300", "2000"]
)
def test_sender_again_and_again(plant: Plant, customer: Customer, events: int, kills: int) -> None:
    hooks = [customer.hook(Ledger(slow), pattern=f"{name}/*") for name in "abcd"]
    prove(*hooks)
    plant.sender.kill()
    change_all(customer, events)
    killed_at = []
    for number in range(kills):
        plant.sender.start()
        assert calls_come(customer, (events - arrived(customer)) // (kills - number + 1))
        killed_at.append(kill_sender(plant))
    plant.sender.start()
    assert customer.settles()
    assert customer.violations(killed_at=killed_at) == []
    assert arrived(customer) == events
    # It was at work when it was killed, and one call for each event under way is all that it cost.
    interrupted = sum(hook.attempts.filter(took_ms=None).count() for hook in hooks)
    assert kills <= interrupted
    assert sum(len(hook.ledger.repeats()) for hook in hooks) <= interrupted


def arrived(customer: Customer) -> int:
    """How many events its receivers know of."""
    return sum(len(hook.ledger.events()) for hook in customer.hooks)


def calls_come(customer: Customer, count: int) -> bool:
    """Whether so many calls more come in time."""

    def calls() -> int:
        return sum(len(hook.ledger.calls) for hook in customer.hooks)

    before = calls()
    return wait_until(lambda: calls() >= before + max(count, 1), seconds=60)


def change_all(customer: Customer, events: int) -> None:
    """So many events, spread over the customer's hooks."""
    for number in range(events // 2):
        hook = customer.hooks[number % len(customer.hooks)]
        customer.change(1, under=hook.pattern.removesuffix("*"))


def test_scheduler(plant: Plant, customer: Customer) -> None:
    """With the worker's own child, which keeps the time."""
    hook = customer.hook()
    customer.change(5)
    (timer,) = psutil.Process(plant.scheduler.pid).children()
    plant.scheduler.kill()
    assert wait_until(lambda: not timer.is_running() or timer.status() == psutil.STATUS_ZOMBIE)
    customer.change(20)
    assert OwedEvent.objects.exists()
    plant.scheduler.start()
    assert customer.settles()
    assert customer.violations() == []
    assert len(hook.ledger.calls) == 50


def test_web_process_right_after_it_answered(plant: Plant, customer: Customer) -> None:
    hook = customer.hook()
    for number in range(2):
        customer.worker.hold(f"lock-{number}")
        plant.web.kill()
        plant.web.start()
    assert customer.settles()
    assert customer.violations() == []
    assert {lock for lock, _ in hook.ledger.events()} == {f"lock-{number}" for number in range(2)}


def test_web_process_while_it_answers(plant: Plant, customer: Customer) -> None:
    """What it committed is told, whether or not anybody learned of it."""
    hook = customer.hook()
    with ThreadPoolExecutor(4) as pool:
        changing = [pool.submit(customer.change_until_refused) for _ in range(4)]
        assert wait_until(lambda: len(hook.ledger.calls) >= 10, seconds=20)
        plant.web.kill()
        for one in changing:
            one.result()
    plant.web.start()
    assert customer.settles()
    assert customer.violations() == []


def test_everything_at_once(plant: Plant, customer: Customer) -> None:
    customer.hook(Ledger(slow))
    customer.change(20)
    for process in (plant.web, plant.scheduler, plant.sender):
        process.kill()
    killed_at = time.time()
    plant.valkey.stop()
    let_claims_pass()
    plant.valkey.start()
    for process in (plant.web, plant.scheduler, plant.sender):
        process.start(wait=False)
    for process in (plant.web, plant.scheduler, plant.sender):
        process.wait_until_ready()
    assert customer.settles()
    assert customer.violations(killed_at=[killed_at]) == []
