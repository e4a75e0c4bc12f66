"""Webhooks as Celery tasks; the beat table is in `octostore.celery`. They carry nothing: SQL is the queue."""

from __future__ import annotations

from typing import Any

from celery import shared_task, signals

from webhooks import deliveries, fanning, resealing, telling
from webhooks.sending import Sender
from webhooks.waking import wake

_sender = Sender()


@shared_task(ignore_result=True)
def dispatch() -> None:
    """Take over what is owed, and see to it that what is due is sent."""
    fanning.fan_out()
    wake(deliver)


@shared_task(ignore_result=True)
def deliver() -> None:
    """Have this worker make the attempts that are due."""
    _sender.look()


@signals.worker_shutting_down.connect
def begin_no_attempt(**_: Any) -> None:
    _sender.begin_to_stop()


@signals.worker_shutdown.connect
def end_attempts(**_: Any) -> None:
    _sender.stop()


@shared_task(ignore_result=True)
def tell_owners() -> None:
    """Mail those whose endpoint was switched off."""
    telling.tell_owners()


@shared_task(ignore_result=True)
def forget_old_deliveries() -> None:
    """Forget what was sent long ago."""
    deliveries.forget_old()


@shared_task(ignore_result=True)
def reseal_secrets() -> None:
    """Bring all that is sealed under the present server key."""
    resealing.reseal()
