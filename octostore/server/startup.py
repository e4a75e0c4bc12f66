"""What must hold before a process serves; whatever does not is told in one sentence."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager

import django.db
from django.core.exceptions import ImproperlyConfigured
from django.db import connection
from django.db.migrations.executor import MigrationExecutor

from octostore.leases.keyring import require_known_key


def require_database() -> None:
    """Raise ImproperlyConfigured where the database is down, lacks a migration or does not know the server key."""
    with database_in_words():
        executor = MigrationExecutor(connection)
        if executor.migration_plan(executor.loader.graph.leaf_nodes()):
            raise ImproperlyConfigured("the database lacks migrations: run `manage.py migrate` first.")
        require_known_key()


@contextmanager
def database_in_words() -> Iterator[None]:
    """Turn a failure of the database into ImproperlyConfigured; leave no connection open."""
    try:
        yield
    except django.db.Error as error:
        said = next(iter(str(error).splitlines()), type(error).__name__)
        raise ImproperlyConfigured(f"the database cannot be used: {said.rstrip('.')}.") from error
    finally:
        connection.close()
