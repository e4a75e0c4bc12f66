"""Where the services listen that this one stands on, its database and its broker. Webhooks are never sent there."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any

from redis.connection import parse_url

POSTGRESQL_PORT, REDIS_PORT = 5432, 6379


def services(database: Mapping[str, Any], redis_url: str) -> frozenset[tuple[str, int]]:
    """Host and port of each, from Django's `DATABASES["default"]` and `REDIS_URL`; SQLite and no broker have none."""
    return frozenset([*_database(database), *_broker(redis_url)])


def _database(database: Mapping[str, Any]) -> Iterator[tuple[str, int]]:
    if "sqlite" in database["ENGINE"]:
        return
    # As libpq reads them: lists, and without a host, or with a directory for one, a socket of this machine.
    ports = [int(port or POSTGRESQL_PORT) for port in str(database.get("PORT") or "").split(",")]
    hosts = str(database.get("HOST") or "").lower().split(",")
    if also := database.get("OPTIONS", {}).get("hostaddr"):
        hosts += also.split(",")
    for host in hosts:
        for port in ports:
            yield (host if host and not host.startswith(("/", "@")) else "localhost"), port


def _broker(redis_url: str) -> Iterator[tuple[str, int]]:
    if redis_url:
        where = parse_url(redis_url)  # type: ignore[no-untyped-call]
        yield where["host"].lower(), where.get("port", REDIS_PORT)
