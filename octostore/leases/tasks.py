"""The engine's periodic work as Celery tasks; the beat table is in `octostore.celery`."""

from __future__ import annotations

from celery import shared_task
from django.conf import settings

from octostore.leases import reaper


@shared_task(ignore_result=True)
def sweep() -> None:
    """Mark ended terms, so that they are told soon."""
    reaper.sweep()


@shared_task(ignore_result=True)
def trim_history() -> None:
    """Drop the events of terms beyond those that are kept."""
    reaper.trim(terms_kept=settings.TERMS_KEPT)
