"""Periodic work of locks as Celery tasks; the beat table is in `octostore.celery`."""

from __future__ import annotations

from celery import shared_task

from locks import services


@shared_task(ignore_result=True)
def forget_idle_locks() -> None:
    """Forget names nobody has held for a month, with their history, and sessions long over."""
    services.forget_idle()
