"""Receivers that fail, answer late or ask for time: same id, same bytes, a fresh signature on each attempt."""

from __future__ import annotations

import socket
import time
from datetime import timedelta

from django.utils import timezone

from tests.deliveries.cast import Customer, Hook
from tests.deliveries.ledger import Ledger, violations
from tests.server.service import wait_until
from tests.webhooks.cast import in_turn
from tests.webhooks.receivers import answering, resetting
from webhooks.models import Delivery


def late(connection: socket.socket, request: bytes) -> None:
    """Answers when the caller has gone."""
    connection.settimeout(None)
    time.sleep(0.5)
    while connection.recv(1):
        pass
    answering()(connection, request)


def is_retried(customer: Customer, hook: Hook, calls: int) -> bool:
    """Whether so many calls came, each once it was due, without waiting for that."""

    def look() -> bool:
        waiting = hook.deliveries.filter(state=Delivery.State.PENDING, claimed_until=None, due_at__gt=timezone.now())
        waiting.update(due_at=timezone.now())
        return len(hook.ledger.calls) == calls and customer.settles(seconds=0)

    return wait_until(look, seconds=60)


def check(customer: Customer, hook: Hook, failures: list[str]) -> None:
    """Each event came as often as that under one id, signed anew, and the log tells it."""
    assert list(hook.attempts.values_list("failure", flat=True)) == failures
    (calls,) = hook.ledger.copies().values()
    assert len(calls) == len(failures)
    assert violations(hook.ledger, customer.events(hook), hook.secret, killed_at=[call.at for call in calls]) == []
    began = [attempt.began_at.timestamp() for attempt in hook.attempts]
    assert all(0 <= call.timestamp - int(at) <= 5 for call, at in zip(calls, began, strict=True))


def one_event(customer: Customer, ledger: Ledger) -> Hook:
    hook = customer.hook(ledger, events=["acquired"])
    customer.worker.hold("lock")
    return hook


def test_500_and_then_200(customer: Customer) -> None:
    hook = one_event(customer, Ledger(in_turn(answering("500 Oops"), answering("500 Oops"), answering())))
    assert is_retried(customer, hook, 3)
    check(customer, hook, ["status", "status", ""])


def test_reset_after_reading(customer: Customer) -> None:
    hook = one_event(customer, Ledger(in_turn(resetting, answering())))
    assert is_retried(customer, hook, 2)
    check(customer, hook, ["reset", ""])


def test_200_after_the_timeout(customer: Customer) -> None:
    hook = one_event(customer, Ledger(in_turn(late, answering())))
    assert is_retried(customer, hook, 2)
    check(customer, hook, ["timeout", ""])
    first, second = hook.ledger.calls
    assert 14 < hook.attempts[0].took_ms / 1000 < 17  # type: ignore[operator]
    assert second.at - first.at > 14
    assert second.timestamp > first.timestamp


def test_429_that_asks_for_30_seconds(customer: Customer) -> None:
    hook = one_event(customer, Ledger(in_turn(answering("429 Slow down", "Retry-After: 30"), answering())))
    ended = hook.attempts.exclude(took_ms=None)
    assert wait_until(ended.exists, seconds=20)
    (delivery,) = hook.deliveries
    wait = delivery.due_at - (ended[0].began_at + timedelta(milliseconds=ended[0].took_ms or 0))
    assert timedelta(seconds=30) <= wait < timedelta(seconds=37)
    assert is_retried(customer, hook, 2)
    check(customer, hook, ["status", ""])
