"""Whether this process can do its work: its database, that database's tables, and the broker."""

from __future__ import annotations

from contextlib import nullcontext
from functools import cache
from typing import Any, Literal

import redis
from django.conf import settings
from django.db import connection
from django.db.migrations.loader import MigrationLoader
from django.db.migrations.recorder import MigrationRecorder
from msgspec import Struct
from redis.backoff import NoBackoff
from redis.retry import Retry

from octostore.leases import storage
from octostore.lib.errors import Unavailable

DATABASE_SECONDS = 2.0
BROKER_SECONDS = 0.5


class Readiness(Struct, kw_only=True):
    """A dead broker delays news and shared budgets but no lease, so it only degrades."""

    status: Literal["ready", "unready"]
    database: Literal["ok", "unavailable"]
    migrations: Literal["ok", "pending", "unknown"]
    broker: Literal["ok", "degraded"]


def examine() -> Readiness:
    """Ask all three, each within its bound."""
    database, migrations = _database()
    return Readiness(
        status="ready" if migrations == "ok" else "unready",
        database=database,
        migrations=migrations,
        broker="ok" if _broker_answers() else "degraded",
    )


def _database() -> tuple[Literal["ok", "unavailable"], Literal["ok", "pending", "unknown"]]:
    try:
        applied = storage.run(_applied_migrations)
    except Unavailable:
        return "unavailable", "unknown"
    return "ok", "pending" if _known_migrations() - applied else "ok"


def _applied_migrations(_: Any) -> set[tuple[str, str]]:
    link: Any = connection
    with link.bounded(DATABASE_SECONDS) if link.vendor == "postgresql" else nullcontext():
        return set(MigrationRecorder(connection).applied_migrations())


@cache
def _known_migrations() -> set[tuple[str, str]]:
    """What the code on disk knows; it does not change while the process runs."""
    return set(MigrationLoader(None).disk_migrations)


def _broker_answers() -> bool:
    if not settings.REDIS_URL:
        return False
    try:
        return bool(_broker(settings.REDIS_URL).ping())
    except redis.RedisError:
        return False


@cache
def _broker(url: str) -> redis.Redis:
    return redis.Redis.from_url(
        url,
        socket_connect_timeout=BROKER_SECONDS,
        socket_timeout=BROKER_SECONDS,
        retry=Retry(NoBackoff(), 0),
    )
