"""The sender of a worker, in this process: how it waits, and what it makes of a call that it cannot make."""

from __future__ import annotations

import socket
import threading
import time
from collections.abc import Iterator

import psutil
import pytest
from django.utils import timezone
from pytest_django.fixtures import Settings

from octostore.lib import outbound
from octostore.teams.models import Team
from tests.deliveries.ledger import Ledger
from tests.locks.cast import found_team
from tests.server.service import wait_until
from tests.webhooks.cast import due
from tests.webhooks.receivers import Behaviour, answering, receiving
from webhooks import sealing, signing
from webhooks.models import Delivery, Endpoint
from webhooks.sending import Sender


@pytest.fixture
def team(database: str, settings: Settings) -> Iterator[Team]:
    settings.WEBHOOK_ALLOW_PRIVATE = True
    team = found_team()
    yield team
    Endpoint.objects.filter(team=team).update(deleted_at=timezone.now())


@pytest.fixture
def sender(team: Team) -> Iterator[Sender]:
    sender = Sender()
    yield sender
    sender.stop()


def owe(team: Team, url: str, count: int) -> Endpoint:
    endpoint = Endpoint(team=team, url=url, events="*", lock_pattern="*", created_by="system")
    endpoint.secret = sealing.seal(endpoint, signing.mint_secret())
    endpoint.last_success_at = timezone.now()
    endpoint.save()
    Delivery.objects.bulk_create(
        Delivery(endpoint=endpoint, message_id=f"msg_{number}", kind="acquired", lock="a", body="{}")
        for number in range(count)
    )
    return endpoint


def held_until(may_answer: threading.Event) -> Behaviour:
    def behave(connection: socket.socket, request: bytes) -> None:
        assert may_answer.wait(10)
        answering()(connection, request)

    return behave


def processor_seconds(name: str) -> float:
    """What the thread of this name has spent."""
    (thread,) = (one for one in threading.enumerate() if one.name == name)
    (times,) = (one for one in psutil.Process().threads() if one.id == thread.native_id)
    return times.user_time + times.system_time


def test_rests_while_all_its_callers_wait(team: Team, settings: Settings) -> None:
    settings.WEBHOOK_THREADS = 2
    may_answer, sender = threading.Event(), Sender()
    ledger = Ledger(held_until(may_answer))
    with receiving(ledger) as receiver:
        owe(team, receiver.url(), 5)
        sender.look()
        assert wait_until(lambda: len(ledger.calls) == 2)
        before = processor_seconds("webhook-sender")
        time.sleep(0.5)
        assert processor_seconds("webhook-sender") - before < 0.05
        assert len(ledger.calls) == 2
        may_answer.set()
        assert wait_until(lambda: len(ledger.calls) == 5)
        sender.stop()
    assert not Delivery.objects.filter(endpoint__team=team).exclude(state="delivered").exists()


def test_sends_more_than_fits_into_one_transaction(team: Team, sender: Sender) -> None:
    ledger = Ledger()
    with receiving(ledger) as receiver:
        for _ in range(8):
            owe(team, receiver.url(), 10)
        sender.look()
        assert wait_until(lambda: len(ledger.calls) == 80, seconds=30)
        sender.stop()
    assert due() == []
    assert Delivery.objects.filter(endpoint__team=team, state="delivered").count() == 80


def test_of_one_that_it_cannot_sign_keeps_nobody_else_waiting(team: Team, sender: Sender) -> None:
    ledger = Ledger()
    with receiving(ledger) as receiver:
        broken = owe(team, receiver.url(), 1)
        owe(team, receiver.url(), 3)
        # As if it were another's.
        Endpoint.objects.filter(pk=broken.pk).update(secret=f"{broken.secret[:-6]}AAAAAA")
        sender.look()
        assert wait_until(lambda: len(ledger.calls) == 3)
        sender.stop()
    # It is tried again when the claim is over.
    delivery = Delivery.objects.get(endpoint=broken)
    assert (delivery.state, delivery.attempts_made) == ("pending", 1)
    assert delivery.claimed_until is not None


def test_stopped_begins_nothing_more(team: Team, sender: Sender) -> None:
    may_answer = threading.Event()
    ledger = Ledger(held_until(may_answer))
    with receiving(ledger) as receiver:
        endpoint = owe(team, receiver.url(), 1)
        sender.look()
        assert wait_until(lambda: len(ledger.calls) == 1)
        sender.begin_to_stop()
        owe(team, receiver.url(), 1)
        sender.look()
        may_answer.set()
        began = time.monotonic()
        sender.stop()
        assert time.monotonic() - began < outbound.SECONDS / 2
        assert len(ledger.calls) == 1
    assert Delivery.objects.get(endpoint=endpoint).state == "delivered"
    assert len(due()) == 1


@pytest.mark.filterwarnings("ignore::pytest.PytestUnhandledThreadExceptionWarning")
def test_has_as_many_callers_as_before_once_threads_can_be_had_again(
    team: Team, settings: Settings, monkeypatch: pytest.MonkeyPatch
) -> None:
    settings.WEBHOOK_THREADS = 2

    def fail() -> None:
        raise RuntimeError("can't start new thread")

    sender, ledger = Sender(), Ledger()
    with receiving(ledger) as receiver:
        with monkeypatch.context() as exhausted:
            exhausted.setattr(sender._callers, "_adjust_thread_count", fail)
            for _ in range(3):
                owe(team, receiver.url(), 1)
                sender.look()
                assert sender._thread is not None
                sender._thread.join(10)
        endpoint = owe(team, receiver.url(), 1)
        sender.look()
        delivered = Delivery.objects.filter(endpoint=endpoint, state="delivered")
        assert wait_until(delivered.exists)
        sender.stop()
