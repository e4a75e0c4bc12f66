"""The pages' periodic work."""

from __future__ import annotations

from celery import shared_task
from django.contrib.sessions.backends.db import SessionStore

from octostore.pages import probing
from octostore.teams.writing import changing


@shared_task
def forget_old_sign_ins() -> None:
    with changing():
        SessionStore.clear_expired()


@shared_task
def probe() -> None:
    """Measure the service, for its status page."""
    probing.keep(probing.measure())
