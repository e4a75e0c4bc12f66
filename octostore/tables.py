"""Whether the database has the tables this code works with."""

from __future__ import annotations

from pathlib import Path

from django.core.exceptions import ImproperlyConfigured
from django.db import connection
from django.db.migrations.executor import MigrationExecutor


def require_tables() -> None:
    """Raise ImproperlyConfigured where migrations are missing; asking makes no SQLite file."""
    if _is_there() and not _pending():
        return
    raise ImproperlyConfigured("the database lacks migrations: run `manage.py migrate`, or `make run`, first.")


def _is_there() -> bool:
    return connection.vendor != "sqlite" or Path(connection.settings_dict["NAME"]).exists()


def _pending() -> bool:
    executor = MigrationExecutor(connection)
    return bool(executor.migration_plan(executor.loader.graph.leaf_nodes()))
