"""After a commit, a word to the worker: there may be something to send. Lost, it costs a second.

One thread in each process says it, so that no request waits for the broker; and it says it only
while somebody follows anything.
"""

from __future__ import annotations

import os
import threading
import time
from typing import Any

from django.conf import settings
from django.db import connection

from octostore.leases import owed
from octostore.leases.signals import lease_changed
from octostore.lib.errors import Unavailable
from octostore.teams.principals import team_uuid_of
from webhooks import tasks
from webhooks.waking import wake

PAUSE_SECONDS = 0.05
LOOK_SECONDS = 1.0
# The beat dispatches each second anyway.
EXPIRES_SECONDS = 1


class Nudges:
    """Turns news of leases into `dispatch`, at most twenty times a second."""

    def __init__(self) -> None:
        self._news = threading.Event()
        self._guard = threading.Lock()
        self._thread: threading.Thread | None = None
        self._looked_at = -LOOK_SECONDS
        self._is_followed = False

    def hear(self, *, space: str, **_: Any) -> None:
        if settings.REDIS_URL and team_uuid_of(space):
            self._news.set()
            if self._thread is None:
                self._start()

    def _start(self) -> None:
        with self._guard:
            if self._thread is None:
                self._thread = threading.Thread(target=self._say, name="webhook-nudges", daemon=True)
                self._thread.start()

    def _say(self) -> None:
        while True:
            self._news.wait()
            self._news.clear()
            if self._is_wanted():
                wake(tasks.dispatch, expires=EXPIRES_SECONDS)
            time.sleep(PAUSE_SECONDS)

    def _is_wanted(self) -> bool:
        if time.monotonic() - self._looked_at >= LOOK_SECONDS:
            try:
                self._is_followed = owed.is_anything_followed()
            except Unavailable:
                self._is_followed = False
            finally:
                connection.close()
            self._looked_at = time.monotonic()
        return self._is_followed


_nudges = Nudges()


def _forked() -> None:
    global _nudges
    _nudges = Nudges()


def _hear(**news: Any) -> None:
    _nudges.hear(**news)


def connect() -> None:
    """From now on this process tells the worker of what it commits."""
    lease_changed.connect(_hear)
    os.register_at_fork(after_in_child=_forked)
