"""How tenancy reads and writes, so that it never stands in the engine's way."""

from __future__ import annotations

import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager, nullcontext
from typing import TypeVar

from django.conf import settings
from django.db import InterfaceError, OperationalError, connection, transaction

from octostore.lib import writers
from octostore.lib.errors import Unavailable

Result = TypeVar("Result")

# A connection that was lost shows it at once; what took longer is not asked twice.
AT_ONCE_SECONDS = 1.0


@contextmanager
def changing(*, in_background: bool = False) -> Iterator[None]:
    """One short transaction, on SQLite in the process's queue of writers. Raises Unavailable when storage is down.

    There a process that writes much `in_background` leaves the file to others half of the time.
    """
    queued = connection.vendor == "sqlite" and not connection.in_atomic_block
    turn = writers.turn(settings.STORAGE_WAIT_SECONDS, rests=in_background) if queued else nullcontext()
    try:
        with turn, transaction.atomic():
            yield
    except (OperationalError, InterfaceError) as error:
        if not connection.in_atomic_block:
            connection.close()
        raise Unavailable from error


def reading(query: Callable[[], Result]) -> Result:
    """What `query` reads, asked once more where a connection turns out to be lost. Raises Unavailable."""
    began_at = time.monotonic()
    try:
        return _bounded(query)
    except (OperationalError, InterfaceError) as error:
        if connection.in_atomic_block or time.monotonic() - began_at > AT_ONCE_SECONDS:
            raise Unavailable from error
    try:
        return _bounded(query)
    except (OperationalError, InterfaceError) as error:
        raise Unavailable from error


def _bounded(query: Callable[[], Result]) -> Result:
    # The PostgreSQL backend ends a wait by closing the connection; SQLite waits for nobody to read.
    bounded = getattr(connection, "bounded", None)
    try:
        with bounded(settings.STORAGE_WAIT_SECONDS) if bounded else nullcontext():
            return query()
    except (OperationalError, InterfaceError):
        if not connection.in_atomic_block:
            connection.close()
        raise
