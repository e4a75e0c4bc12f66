"""Which database, and how it is connected to: `DATABASE_URL`, or SQLite in the data directory."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import dj_database_url
from django.core.exceptions import ImproperlyConfigured

SQLITE_FILE = "octostore.sqlite3"
POSTGRESQL, SQLITE = "django.db.backends.postgresql", "django.db.backends.sqlite3"


def settings_from(url: str, data_dir: Path, *, wait_seconds: int) -> dict[str, Any]:
    """Django's settings for the database; with an empty `url` that of `data_dir`.

    Raises ImproperlyConfigured, without repeating the address: it holds a password.
    """
    if not url:
        return _sqlite({"ENGINE": SQLITE, "NAME": str(data_dir / SQLITE_FILE)}, data_dir, wait_seconds)
    try:
        database: dict[str, Any] = {**dj_database_url.parse(url)}
    except (dj_database_url.ParseError, dj_database_url.UnknownSchemeError, ValueError) as error:
        raise ImproperlyConfigured("DATABASE_URL is not a database address like postgres://user@host/name.") from error
    if database["ENGINE"] == POSTGRESQL:
        return _postgresql(database, wait_seconds)
    if database["ENGINE"] == SQLITE:
        _require_file(database)
        return _sqlite(database, data_dir, wait_seconds)
    raise ImproperlyConfigured("DATABASE_URL must name PostgreSQL (postgres://...) or SQLite (sqlite:///...).")


def _postgresql(database: dict[str, Any], wait_seconds: int) -> dict[str, Any]:
    import psycopg  # not needed for SQLite

    options = database.setdefault("OPTIONS", {})
    try:
        psycopg.conninfo.make_conninfo("", **options)
    except psycopg.ProgrammingError as error:
        raise ImproperlyConfigured("DATABASE_URL has an option that PostgreSQL does not know.") from error
    if not database["NAME"] and "service" not in options:
        raise ImproperlyConfigured("DATABASE_URL names no database; it must be like postgres://user@host/name.")
    # Lock waits end by an error of the server before anything happened; every other wait is ended
    # by closing the connection, never by cancelling the statement (guarantees, G1).
    options.setdefault("connect_timeout", max(2, wait_seconds - 1))
    options.setdefault("tcp_user_timeout", wait_seconds * 1000)
    options.setdefault("application_name", "octostore")
    options.setdefault("options", f"-c lock_timeout={wait_seconds * 800}")
    return database | {"ENGINE": "octostore.leases.postgresql", "CONN_MAX_AGE": None}


def _sqlite(database: dict[str, Any], data_dir: Path, wait_seconds: int) -> dict[str, Any]:
    # FULL, because NORMAL can forget commits on power loss, and a term could be given twice.
    options = {
        "transaction_mode": "IMMEDIATE",
        "timeout": wait_seconds * 0.8,
        "init_command": "PRAGMA journal_mode=WAL; PRAGMA synchronous=FULL;",
    }
    # A test run must have a file: many threads and processes read it.
    test = {"NAME": data_dir / "test.sqlite3"}
    return database | {"OPTIONS": options, "CONN_MAX_AGE": None, "TEST": test}


def _require_file(database: dict[str, Any]) -> None:
    path = Path(database["NAME"])
    if database["NAME"] == ":memory:" or path.is_dir():
        raise ImproperlyConfigured(
            "DATABASE_URL must name a file, like sqlite:////var/lib/octostore/octostore.sqlite3."
        )
    if database.get("OPTIONS"):
        raise ImproperlyConfigured("DATABASE_URL can have no options where it names SQLite.")
    if not path.parent.is_dir():
        raise ImproperlyConfigured(f"DATABASE_URL names a file in {path.parent}, where there is no directory.")
