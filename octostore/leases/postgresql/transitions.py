"""The engine's steps on PostgreSQL: one bounded round trip each, in autocommit, unless a group moves its leases."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any, TypeVar, cast

from django.conf import settings
from django.db import connection, transaction

from octostore.leases.postgresql import group_statements, statements
from octostore.leases.postgresql.base import DatabaseWrapper
from octostore.leases.rows import Grant, Group, Row

Read = TypeVar("Read")


def read(space: str, name: str) -> Row | None:
    return _row(statements.READ, space=space, name=name)


def now() -> int:
    return int(_execute(f"SELECT {statements.NOW}", {})[0][0])


def found(space: str, name: str) -> None:
    _execute(statements.FOUND, {"space": space, "name": name}, rows=False)


def take(grant: Grant) -> Row | None:
    among = statements if grant.group_id is None else group_statements
    return _row(among.TAKE if grant.quota is None else among.TAKE_COUNTED, **grant._asdict())


def renew(space: str, name: str, capability_digest: bytes, ttl_ms: int | None, *, bound: bool = False) -> Row | None:
    statement = group_statements.RENEW_BOUND if bound else statements.RENEW
    return _row(statement, space=space, name=name, capability_digest=capability_digest, ttl_ms=ttl_ms)


def extend(space: str, name: str, group_id: str, capability_digest: bytes, ttl_ms: int) -> Row | None:
    return _row(
        group_statements.EXTEND,
        space=space,
        name=name,
        group_id=group_id,
        capability_digest=capability_digest,
        ttl_ms=ttl_ms,
    )


def set_acl(space: str, name: str, acl: str | None, capability_digest: bytes | None) -> Row | None:
    return _row(statements.SET_ACL, space=space, name=name, acl=acl, capability_digest=capability_digest)


def form(space: str, key: str, charged_to: str, ttl_ms: int) -> Group | None:
    return _group(group_statements.FORM, space=space, key=key, charged_to=charged_to, ttl_ms=ttl_ms)


def read_group(space: str, key: str) -> Group | None:
    return _group(group_statements.READ, space=space, key=key)


def keep(space: str, key: str) -> Group | None:
    rows = _behind_group(group_statements.KEEP, space=space, key=key)
    return Group._make(rows[0]) if rows else None


def dissolve(space: str, key: str, reason: str) -> tuple[Group, list[str]] | None:
    rows = _behind_group(group_statements.DISSOLVE, space=space, key=key, reason=reason)
    return (Group._make(rows[0][:-1]), rows[0][-1]) if rows else None


def settle_group(space: str, key: str) -> None:
    _execute(group_statements.SETTLE, {"space": space, "key": key})


def sweep_groups(batch: int) -> int:
    return _number(group_statements.SWEEP, batch=batch)


def forget_groups(idle_ms: int, batch: int) -> int:
    return _number(group_statements.FORGET, idle_ms=idle_ms, batch=batch)


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
    # Groups first: a keepalive in between finds its group ended.
    with connection.cursor() as cursor:
        cursor.execute(group_statements.RESTORE)
    return _number(statements.RESTORE, reason=reason, actor=actor)


def count(space: str) -> dict[str, int]:
    return dict(_execute(statements.COUNT, {"space": space}))


def count_open(space: str) -> int:
    return int(_execute(statements.COUNT_OPEN, {"space": space})[0][0])


def positions(space: str, names: list[str]) -> list[tuple[Any, ...]]:
    return _execute(statements.POSITIONS, {"space": space, "names": names})


def evaluate(query: Iterable[Read]) -> list[Read]:
    """The rows of a query of Django's, bounded like a statement."""
    with cast(DatabaseWrapper, connection).bounded(settings.STORAGE_WAIT_SECONDS):
        return list(query)


def _row(statement: str, **parameters: Any) -> Row | None:
    rows = _execute(statement, parameters)
    return Row._make(rows[0]) if rows else None


def _group(statement: str, **parameters: Any) -> Group | None:
    rows = _execute(statement, parameters)
    return Group._make(rows[0]) if rows else None


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


def _behind_group(statement: str, **parameters: Any) -> list[tuple[Any, ...]]:
    """Run a statement whose snapshot holds what the group's lock waited for; no rows without the group.

    Two statements and the commit, each bounded.
    """
    database = cast(DatabaseWrapper, connection)
    with (
        database.bounded(settings.STORAGE_WAIT_SECONDS),
        transaction.atomic(durable=True),
        database.cursor() as cursor,
    ):
        cursor.execute(group_statements.LOCK_GROUP, parameters)
        if not cursor.fetchall():
            return []
        cursor.execute(statement, parameters)
        rows: list[tuple[Any, ...]] = cursor.fetchall()
        return rows
