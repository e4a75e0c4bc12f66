"""Who does not answer delays nobody else: neither other receivers nor the sweep (issue: fairness)."""

from __future__ import annotations

import socket
import time
from collections.abc import Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor
from contextlib import ExitStack
from itertools import chain, islice
from uuid import uuid4

import pytest
from django.db import connections

from octostore.leases.models import Lease
from tests.deliveries.cast import Customer, Hook, change, prove
from tests.deliveries.ledger import Ledger
from tests.deliveries.plant import Plant
from tests.locks.cast import space_of
from tests.measures import percentile
from tests.players import now_ms
from tests.races import beside
from tests.server.service import wait_until
from tests.webhooks.receivers import Behaviour, dripping, flooding, silent

pytestmark = pytest.mark.alone

EVENTS_PER_SECOND = 50
CHANGERS = 5
P95_SECONDS = 5.0
SWEPT_SECONDS = 3.0


def never(connection: socket.socket, request: bytes) -> None:
    connection.settimeout(None)
    silent(connection, request)


def bad() -> list[Behaviour]:
    head = b"HTTP/1.1 200 OK\r\nContent-Length: 1073741824\r\n\r\n"
    return [never, dripping(head, b"x", 1.0), dripping(b"", b"H", 1.0), flooding(head, [])]


@pytest.fixture
def customers(plant: Plant, database: str) -> Iterator[list[Customer]]:
    with ExitStack() as stack:
        yield [stack.enter_context(Customer(plant.web)) for _ in range(2)]


@pytest.fixture
def healthy(customers: list[Customer]) -> list[tuple[Customer, Hook]]:
    """5 of the 20 webhooks: those that answer. All have answered so far."""
    kinds = iter(list(islice(chain.from_iterable([bad()] * 4), 15)))
    good = []
    for customer, count in zip(customers, (3, 2), strict=True):
        for number in range(10):
            # Registered last, so that what is served in order serves them last.
            is_good = number >= 10 - count
            hook = customer.hook(Ledger() if is_good else Ledger(next(kinds)), pattern=f"{number}/*")
            if is_good:
                good.append((customer, hook))
    prove(*customers[0].hooks, *customers[1].hooks)
    return good


def change_steadily(customers: Sequence[Customer], seconds: float) -> float:
    """So many events a second, to one webhook after the other; how many a second they were."""
    each = [
        (customer, hook)
        for pair in zip(*([(c, h) for h in c.hooks] for c in customers), strict=True)
        for customer, hook in pair
    ]
    began, pairs = time.monotonic(), int(seconds * EVENTS_PER_SECOND / 2)

    def act(first: int) -> None:
        workers = {customer: customer.another_worker() for customer in customers}
        for number in range(first, pairs, CHANGERS):
            time.sleep(max(0.0, began + number * 2 / EVENTS_PER_SECOND - time.monotonic()))
            customer, hook = each[number % len(each)]
            change(workers[customer], f"{hook.pattern[:-1]}{uuid4().hex[:12]}")
        for worker in workers.values():
            worker.close()

    with ThreadPoolExecutor(CHANGERS) as pool:
        list(pool.map(act, range(CHANGERS)))
    return 2 * pairs / (time.monotonic() - began)


class Lapses:
    """Locks whose holders fall silent again and again, and how late their ends are marked."""

    def __init__(self, customer: Customer) -> None:
        self._customer = customer
        self._left_at = 0.0
        self.latest = 0.0

    def look(self) -> None:
        if time.monotonic() - self._left_at > 0.5:
            # On a machine that has much else to do it may be refused.
            self._customer.worker.acquire(f"left/{uuid4().hex[:12]}", ttl_seconds=2)
            self._left_at = time.monotonic()
        unmarked = Lease.objects.filter(space=space_of(self._customer.team), ended_at=None)
        first = unmarked.order_by("expires_at").values_list("expires_at", flat=True).first()
        if first is not None:
            self.latest = max(self.latest, (now_ms() - first) / 1000)
        connections.close_all()
        time.sleep(0.1)


@pytest.mark.parametrize("seconds", [15, pytest.param(120, marks=pytest.mark.soak)])
def test_fifteen_bad_of_twenty(
    customers: list[Customer], healthy: list[tuple[Customer, Hook]], customer: Customer, seconds: int
) -> None:
    lapses = Lapses(customer)
    with beside(lapses.look):
        rate = change_steadily(customers, seconds)
        owed = {hook.id: one.events(hook) for one, hook in healthy}
        assert wait_until(lambda: all(owed[hook.id] <= hook.ledger.events() for _, hook in healthy), seconds=30)
    assert rate > 0.9 * EVENTS_PER_SECOND
    took = [
        call.at - at[call.event] for one, hook in healthy for at in [one.committed_at()] for call in hook.ledger.calls
    ]
    print(
        f"{rate:.0f} events a second, p50 {percentile(took, 0.5):.2f} s, p95 {percentile(took, 0.95):.2f} s,",
        f"max {max(took):.2f} s, sweep late {lapses.latest:.2f} s",
    )
    assert percentile(took, 0.95) < P95_SECONDS
    assert lapses.latest < SWEPT_SECONDS
    for _, hook in healthy:
        assert hook.ledger.events() == owed[hook.id]
        assert hook.ledger.repeats() == []
