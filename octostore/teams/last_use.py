"""When keys were last used: noted on the request's way, written behind its back, at most once a minute for each."""

from __future__ import annotations

import os
import threading
import time
from datetime import timedelta

import structlog
from django.db import DatabaseError, connection
from django.db.models import Q
from django.utils import timezone

from octostore.lib.errors import Unavailable
from octostore.teams.models import ApiKey
from octostore.teams.writing import changing

EVERY = timedelta(minutes=1)
DELAY_SECONDS = 1.0
BATCH = 500

log = structlog.get_logger(__name__)


class Notes:
    """Keys whose use is still to be written. The thread that writes lives while there is something to write."""

    def __init__(self) -> None:
        self._guard = threading.Lock()
        self._writing = threading.Lock()
        self._keys: set[int] = set()
        self._thread: threading.Thread | None = None

    def add(self, key_id: int) -> None:
        with self._guard:
            self._keys.add(key_id)
            if self._thread is None:
                self._thread = threading.Thread(target=self._run, name="last use of keys", daemon=True)
                self._thread.start()

    def flush(self) -> None:
        """Write what there is; when this returns nothing that was noted before is still being written."""
        with self._writing:
            with self._guard:
                taken = list(self._keys)
                self._keys.clear()
            if taken:
                write(taken)

    def _run(self) -> None:
        while True:
            # Requests come in crowds; their keys are written in one go.
            time.sleep(DELAY_SECONDS)
            self.flush()
            with self._guard:
                if not self._keys:
                    self._thread = None
                    return


def note(key_id: int) -> None:
    """The key was used now; returns at once."""
    _notes.add(key_id)


def write(key_ids: list[int]) -> None:
    """Write that these keys were used now, where that was not written within the last minute.

    What cannot be written is lost: the key's next use is noted again.
    """
    now = timezone.now()
    idle = Q(last_used_at=None) | Q(last_used_at__lt=now - EVERY)
    try:
        for start in range(0, len(key_ids), BATCH):
            with changing():
                ApiKey.objects.filter(idle, id__in=key_ids[start : start + BATCH]).update(last_used_at=now)
    except (Unavailable, DatabaseError) as error:
        log.info("last_use_not_written", cause=type(error).__name__)
    finally:
        if not connection.in_atomic_block:
            connection.close()


def flush() -> None:
    """Write on the calling thread what is still to be written."""
    _notes.flush()


_notes = Notes()


def _forked() -> None:
    global _notes
    _notes = Notes()


os.register_at_fork(after_in_child=_forked)
