"""What must hold before a process serves; whatever does not is told in one sentence."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager

import django.db
from django.conf import settings
from django.core.exceptions import ImproperlyConfigured
from django.db import connection

from octostore import datadir
from octostore.leases.keyring import require_known_key
from octostore.tables import require_tables


def require_database() -> None:
    """Raise ImproperlyConfigured where the database is down, lacks a migration or does not know the server key."""
    try:
        with database_in_words():
            require_tables()
            require_known_key()
    finally:
        connection.close()


@contextmanager
def database_in_words() -> Iterator[None]:
    """Turn a failure of the database into ImproperlyConfigured."""
    try:
        yield
    except django.db.Error as error:
        said = next(iter(str(error).splitlines()), type(error).__name__)
        named = "DATABASE_URL" if settings.DATABASE_URL else datadir.SETTING
        raise ImproperlyConfigured(f"the database cannot be used: {said.rstrip('.')} ({named} names it).") from error
