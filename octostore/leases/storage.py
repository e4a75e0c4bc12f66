"""Which database's transitions are used, and what its failures mean."""

from __future__ import annotations

from collections.abc import Callable
from types import ModuleType
from typing import Any, TypeVar

from django.db import DatabaseError, InterfaceError, InternalError, OperationalError, connection
from django.db.models import Model, QuerySet

from octostore.leases.postgresql import transitions as postgresql
from octostore.leases.postgresql.base import was_lost
from octostore.leases.sqlite import transitions as sqlite
from octostore.lib.errors import Unavailable

Result = TypeVar("Result")
Recorded = TypeVar("Recorded", bound=Model)


def run(transition: Callable[[ModuleType], Result]) -> Result:
    """Run one transition against the database in use, outside any transaction.

    A connection that was lost (the server restarted under it) is replaced and the transition run
    once more: every transition either finds its own work done or does it (guarantees, G5). Raises
    Unavailable when storage is down, busy beyond the bounded wait, or said something that leaves
    the outcome unknown.
    """
    if connection.in_atomic_block:
        raise RuntimeError("A grant is answered only after its commit: leases change outside transactions.")
    transitions: Any = postgresql if connection.vendor == "postgresql" else sqlite
    try:
        return _once(transition, transitions)
    except (OperationalError, InterfaceError, InternalError) as error:
        if not was_lost(error):
            raise Unavailable from error
    try:
        return _once(transition, transitions)
    except (OperationalError, InterfaceError, InternalError) as error:
        raise Unavailable from error


def read(query: QuerySet[Recorded]) -> list[Recorded]:
    """The rows of a query, within the bounded wait. Raises Unavailable as `run` does."""
    rows: list[Recorded] = run(lambda transitions: transitions.evaluate(query.all()))
    return rows


def _once(transition: Callable[[ModuleType], Result], transitions: ModuleType) -> Result:
    try:
        return transition(transitions)
    except (DatabaseError, InterfaceError):
        # Whatever went wrong, the next caller begins on a fresh connection: a server that was
        # demoted or restarted must not be asked again through this one.
        connection.close()
        raise
