"""Periodic work of elections as Celery tasks; the beat table is in `octostore.celery`."""

from __future__ import annotations

from celery import shared_task

from elections import services


@shared_task(ignore_result=True)
def forget_idle_rooms() -> None:
    """Forget rooms nobody has led for a day, with their history."""
    services.forget_idle_rooms()
