"""`manage.py migrate`: Django's, which finds a place for SQLite's file where it is the first to need one."""

from __future__ import annotations

from typing import Any

from django.conf import settings
from django.core.management.commands import migrate

from octostore import datadir
from octostore.server.startup import database_in_words


class Command(migrate.Command):
    def execute(self, *args: Any, **options: Any) -> str | None:
        """Around the system checks too: they ask the database what it can do."""
        if not settings.DATABASE_URL:
            with datadir.using(settings.DATA_DIR):
                pass
        with database_in_words():
            return super().execute(*args, **options)
