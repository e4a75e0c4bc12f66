"""Webhooks as Celery tasks; the beat table is in `octostore.celery`. A task carries ids alone: SQL is the queue."""

from __future__ import annotations

from celery import shared_task

from webhooks import deliveries, fanning, resealing, sending, telling

# What waited longer is found again by the next `dispatch`.
EXPIRES_SECONDS = 5


@shared_task(ignore_result=True)
def dispatch() -> None:
    """Take over what is owed, and see to it that what is due is sent."""
    fanning.fan_out()
    for endpoint_id in sending.due():
        deliver.apply_async((endpoint_id,), expires=EXPIRES_SECONDS)


@shared_task(ignore_result=True)
def deliver(endpoint_id: int) -> None:
    """Make one attempt that is due, and go on with the next."""
    if sending.attempt_next(endpoint_id):
        deliver.apply_async((endpoint_id,), expires=EXPIRES_SECONDS)


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
