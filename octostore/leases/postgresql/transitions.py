"""The engine's steps on PostgreSQL: one bounded round trip each, in autocommit."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any, TypeVar, cast

from django.conf import settings
from django.db import connection

from octostore.leases.postgresql import statements
from octostore.leases.postgresql.base import DatabaseWrapper
from octostore.leases.rows import Grant, Row

Read = TypeVar("Read")


def read(space: str, name: str) -> Row | None:
    return _row(statements.READ, space=space, name=name)


def found(space: str, name: str) -> None:
    _execute(statements.FOUND, {"space": space, "name": name}, rows=False)


def take(grant: Grant) -> Row | None:
    return _row(statements.TAKE, **grant._asdict())


def renew(space: str, name: str, capability_digest: bytes, ttl_ms: int | None) -> Row | None:
    return _row(statements.RENEW, space=space, name=name, capability_digest=capability_digest, ttl_ms=ttl_ms)


def release(space: str, name: str, capability_digest: bytes, delayed: bool) -> Row | None:
    return _row(statements.RELEASE, space=space, name=name, capability_digest=capability_digest, delayed=delayed)


def revoke(space: str, name: str, term: int, delay_ms: int, reason: str, actor: str) -> Row | None:
    return _row(statements.REVOKE, space=space, name=name, term=term, delay_ms=delay_ms, reason=reason, actor=actor)


def settle(space: str, name: str) -> Row | None:
    return _row(statements.SETTLE, space=space, name=name)


def sweep(batch: int) -> int:
    return _number(statements.SWEEP, batch=batch)


def forget(space: str, idle_ms: int, batch: int) -> int:
    return _number(statements.FORGET, space=space, idle_ms=idle_ms, batch=batch)


def trim(kept: int, batch: int) -> int:
    with connection.cursor() as cursor:
        cursor.execute(statements.TRIM, {"kept": kept, "batch": batch})
        return int(cursor.rowcount)


def restore(reason: str, actor: str) -> int:
    return _number(statements.RESTORE, reason=reason, actor=actor)


def count(space: str) -> dict[str, int]:
    return dict(_execute(statements.COUNT, {"space": space}))


def positions(space: str, names: list[str]) -> list[tuple[Any, ...]]:
    return _execute(statements.POSITIONS, {"space": space, "names": names})


def evaluate(query: Iterable[Read]) -> list[Read]:
    """The rows of a query of Django's, bounded like a statement."""
    with cast(DatabaseWrapper, connection).bounded(settings.STORAGE_WAIT_SECONDS):
        return list(query)


def _row(statement: str, **parameters: Any) -> Row | None:
    rows = _execute(statement, parameters)
    return Row._make(rows[0]) if rows else None


def _number(statement: str, **parameters: Any) -> int:
    """For work in the background, which may take longer than a request may wait."""
    with connection.cursor() as cursor:
        cursor.execute(statement, parameters)
        return int(cursor.fetchone()[0])


def _execute(statement: str, parameters: dict[str, Any], *, rows: bool = True) -> list[tuple[Any, ...]]:
    database = cast(DatabaseWrapper, connection)
    with database.bounded(settings.STORAGE_WAIT_SECONDS), database.cursor() as cursor:
        cursor.execute(statement, parameters)
        return cursor.fetchall() if rows else []
