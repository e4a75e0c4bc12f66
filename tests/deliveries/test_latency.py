"""What happens is told within a second; what did not happen is never told."""

from __future__ import annotations

import time
from collections.abc import Iterator
from contextlib import contextmanager

from django.db import connection

from tests.deliveries.cast import Customer
from tests.measures import best, percentile
from tests.server.service import wait_until

CHANGES = 50
PAUSE_SECONDS = 0.1
P95_SECONDS = 1.0


def test_a_release_is_told_within_a_second_of_its_answer(customer: Customer) -> None:
    hook = customer.hook(events=["released"])
    customer.change(3)
    assert customer.settles(seconds=20)

    def measure() -> float:
        answered_at = {}
        for number in range(CHANGES):
            lock = f"{len(hook.ledger.calls)}-{number}"
            customer.worker.release(lock, customer.worker.hold(lock)["lease_id"])
            answered_at[lock] = time.time()
            time.sleep(PAUSE_SECONDS)
        assert customer.settles(seconds=20)
        told_at = {call.data["lock"]: call.at for call in hook.ledger.calls}
        took = [told_at[lock] - at for lock, at in answered_at.items()]
        print(f"p50 {percentile(took, 0.5):.3f} s, p95 {percentile(took, 0.95):.3f} s after the answer")
        return percentile(took, 0.95)

    assert best(measure, bound=P95_SECONDS) < P95_SECONDS
    assert hook.ledger.repeats() == []


@contextmanager
def failing_at_its_end() -> Iterator[None]:
    """Each change of a lock is rolled back after its event was written."""
    with connection.cursor() as cursor:
        if connection.vendor == "postgresql":
            cursor.execute(
                "CREATE FUNCTION fail() RETURNS trigger LANGUAGE plpgsql AS"
                " $$ BEGIN RAISE EXCEPTION 'planted' USING ERRCODE = '53100'; END $$"
            )
            cursor.execute(
                "CREATE CONSTRAINT TRIGGER fails AFTER INSERT ON leases_owedevent DEFERRABLE INITIALLY DEFERRED"
                " FOR EACH ROW EXECUTE FUNCTION fail()"
            )
        else:
            cursor.execute(
                "CREATE TRIGGER fails AFTER INSERT ON leases_owedevent BEGIN INSERT INTO nowhere VALUES (1); END"
            )
    try:
        yield
    finally:
        with connection.cursor() as cursor:
            if connection.vendor == "postgresql":
                cursor.execute("DROP TRIGGER fails ON leases_owedevent")
                cursor.execute("DROP FUNCTION fail()")
            else:
                cursor.execute("DROP TRIGGER fails")


def test_what_was_rolled_back_is_told_to_nobody(customer: Customer) -> None:
    hook = customer.hook()
    held = customer.worker.hold("held")
    with failing_at_its_end():
        for number in range(5):
            assert customer.worker.acquire(f"lost-{number}").status_code == 503
        assert customer.worker.release("held", held["lease_id"]).status_code == 503
    customer.worker.hold("kept")
    assert wait_until(lambda: "kept" in {lock for lock, _ in hook.ledger.events()}, seconds=20)
    assert customer.settles(seconds=20)
    assert customer.violations() == []
    assert [call.data["lock"] for call in hook.ledger.calls] == ["held", "kept"]
