"""The engine's steps on SQLite: one IMMEDIATE transaction each, through the queue of writers."""

from __future__ import annotations

import json
from collections.abc import Iterable
from typing import Any, TypeVar

from django.conf import settings
from django.db import connection
from django.db.backends.utils import CursorWrapper

from octostore.leases import clock
from octostore.leases.clock import Mark, Reading
from octostore.leases.rows import Grant, Group, Row
from octostore.leases.sqlite import statements
from octostore.leases.sqlite.writing import READ_CLOCK, writing

Read = TypeVar("Read")


def read(space: str, name: str) -> Row | None:
    # The clocks before the row: a renewal that a slow reader has not seen must not look like an end.
    reading = clock.read()
    with connection.cursor() as cursor:
        cursor.execute(statements.READ, {"space": space, "name": name})
        row = cursor.fetchone()
    return Row._make((*row[:-3], _now(Mark(*row[-3:]), reading))) if row else None


def now() -> int:
    reading = clock.read()
    with connection.cursor() as cursor:
        cursor.execute(READ_CLOCK)
        return _now(Mark(*cursor.fetchone() or (0, 0, "")), reading)


def found(space: str, name: str) -> None:
    with _writing() as (cursor, now):
        cursor.execute(statements.FOUND, {"space": space, "name": name, "now": now})


def take(grant: Grant) -> Row | None:
    parameters = grant._asdict()
    with _writing() as (cursor, now):
        _change(cursor, now, statements.SETTLE, parameters)
        return _change(cursor, now, statements.TAKE, parameters)


def renew(space: str, name: str, capability_digest: bytes, ttl_ms: int | None, *, bound: bool = False) -> Row | None:
    parameters = {"space": space, "name": name, "capability_digest": capability_digest, "ttl_ms": ttl_ms}
    with _writing() as (cursor, now):
        row = _update(cursor, now, statements.RENEW_BOUND if bound else statements.RENEW, parameters)
        if row:
            cursor.execute(statements.OWE_RENEWAL, {"id": row.id, "now": now})
        return row


def extend(space: str, name: str, group_id: str, capability_digest: bytes, ttl_ms: int) -> Row | None:
    parameters = {"space": space, "name": name, "group_id": group_id, "capability_digest": capability_digest}
    with _writing() as (cursor, now):
        return _update(cursor, now, statements.EXTEND, parameters | {"ttl_ms": ttl_ms})


def set_acl(space: str, name: str, acl: str | None, capability_digest: bytes | None) -> Row | None:
    parameters = {"space": space, "name": name, "acl": acl, "capability_digest": capability_digest}
    with _writing() as (cursor, now):
        return _update(cursor, now, statements.SET_ACL, parameters)


def form(space: str, key: str, charged_to: str, ttl_ms: int) -> Group | None:
    with _writing() as (cursor, now):
        return _group(cursor, now, statements.FORM, space=space, key=key, charged_to=charged_to, ttl_ms=ttl_ms)


def read_group(space: str, key: str) -> Group | None:
    reading = clock.read()
    with connection.cursor() as cursor:
        cursor.execute(statements.READ_GROUP, {"space": space, "key": key})
        row = cursor.fetchone()
    return Group._make((*row[:-3], _now(Mark(*row[-3:]), reading))) if row else None


def keep(space: str, key: str) -> Group | None:
    with _writing() as (cursor, now):
        kept = _group(cursor, now, statements.KEEP, space=space, key=key)
        if kept:
            cursor.execute(statements.EXTEND_BOUND, {"space": space, "key": key, "now": now, "until": kept.expires_at})
        return kept


def dissolve(space: str, key: str, reason: str) -> tuple[Group, list[str]] | None:
    with _writing() as (cursor, now):
        dissolved = _group(cursor, now, statements.DISSOLVE, space=space, key=key)
        if not dissolved:
            return None
        ended = _every(cursor, statements.END_BOUND, space=space, key=key, now=now)
        for lease, _ in ended:
            _record(cursor, lease, reason)
        return dissolved, [name for _, name in ended]


def settle_group(space: str, key: str) -> None:
    with _writing() as (cursor, now):
        cursor.execute(statements.SETTLE_GROUP, {"space": space, "key": key, "now": now})


def sweep_groups(batch: int) -> int:
    with _writing() as (cursor, now):
        return len(_every(cursor, statements.SWEEP_GROUPS, now=now, batch=batch))


def forget_groups(idle_ms: int, batch: int) -> int:
    with _writing() as (cursor, now):
        return len(_every(cursor, statements.FORGET_GROUPS, now=now, idle_ms=idle_ms, batch=batch))


def release(space: str, name: str, capability_digest: bytes, delayed: bool) -> Row | None:
    parameters = {"space": space, "name": name, "capability_digest": capability_digest, "delayed": delayed}
    with _writing() as (cursor, now):
        return _change(cursor, now, statements.RELEASE, parameters)


def revoke(space: str, name: str, term: int, delay_ms: int, reason: str, actor: str) -> Row | None:
    parameters = {"space": space, "name": name, "term": term, "delay_ms": delay_ms}
    with _writing() as (cursor, now):
        return _change(cursor, now, statements.REVOKE, parameters, reason=reason, actor=actor)


def settle(space: str, name: str) -> Row | None:
    with _writing() as (cursor, now):
        return _change(cursor, now, statements.SETTLE, {"space": space, "name": name})


def sweep(batch: int) -> int:
    with _writing() as (cursor, now):
        ended = _every(cursor, statements.SWEEP, now=now, batch=batch)
        for (lease,) in ended:
            _record(cursor, lease)
        return len(ended)


def forget(space: str, idle_ms: int, batch: int) -> int:
    with _writing() as (cursor, now):
        forgotten = _every(cursor, statements.FORGET, space=space, idle_ms=idle_ms, now=now, batch=batch)
        for (lease,) in forgotten:
            cursor.execute(statements.FORGET_EVENTS, {"id": lease})
        return len(forgotten)


def trim(kept: int, batch: int) -> int:
    with _writing() as (cursor, _):
        cursor.execute(statements.TRIM, {"kept": kept, "batch": batch})
        return int(cursor.rowcount)


def restore(reason: str, actor: str) -> int:
    with _writing() as (cursor, now):
        cursor.execute(statements.RESTORE_GROUPS, {"now": now})
        names = _every(cursor, statements.RESTORE, now=now)
        ended = [lease for lease, events in names if events]
        for lease in ended:
            _record(cursor, lease, reason, actor)
        return len(ended)


def count(space: str) -> dict[str, int]:
    return dict(_read_at_once(statements.COUNT, space=space))


def count_open(space: str) -> int:
    return int(_read_at_once(statements.COUNT_OPEN, space=space)[0][0])


def positions(space: str, names: list[str]) -> list[tuple[Any, ...]]:
    return _read_at_once(statements.POSITIONS, space=space, names=json.dumps(names))


def evaluate(query: Iterable[Read]) -> list[Read]:
    """The rows of a query of Django's."""
    return list(query)


def _read_at_once(statement: str, **parameters: Any) -> list[tuple[Any, ...]]:
    """Many rows, judged by one clock that was read before them."""
    with connection.cursor() as cursor:
        cursor.execute(READ_CLOCK)
        now = _now(Mark(*cursor.fetchone() or (0, 0, "")), clock.read())
        return _every(cursor, statement, **parameters, now=now)


def _writing() -> Any:
    return writing(settings.STORAGE_WAIT_SECONDS)


def _now(mark: Mark, reading: Reading) -> int:
    if mark.boot_id != reading.boot_id:
        # Until a first write of this boot the mark would stand still, and with it leases that only get read.
        with _writing() as (_, now):
            return int(now)
    return mark.now(reading)


def _update(cursor: CursorWrapper, now: int, statement: str, parameters: dict[str, Any]) -> Row | None:
    rows = _every(cursor, statement, **parameters, now=now)
    return Row._make((*rows[0], now)) if rows else None


def _group(cursor: CursorWrapper, now: int, statement: str, **parameters: Any) -> Group | None:
    rows = _every(cursor, statement, **parameters, now=now)
    return Group._make((*rows[0], now)) if rows else None


def _change(
    cursor: CursorWrapper, now: int, statement: str, parameters: dict[str, Any], reason: str = "", actor: str = ""
) -> Row | None:
    """An update that is an event: recorded in the same transaction."""
    row = _update(cursor, now, statement, parameters)
    if row:
        _record(cursor, row.id, reason, actor)
    return row


def _record(cursor: CursorWrapper, lease: int, reason: str = "", actor: str = "") -> None:
    cursor.execute(statements.RECORD, {"id": lease, "reason": reason, "actor": actor})
    cursor.execute(statements.OWE, {"id": lease, "reason": reason})


def _every(cursor: CursorWrapper, statement: str, **parameters: Any) -> list[tuple[Any, ...]]:
    cursor.execute(statement, parameters)
    rows: list[tuple[Any, ...]] = cursor.fetchall()
    return rows
