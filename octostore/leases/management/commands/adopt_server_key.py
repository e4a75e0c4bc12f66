"""manage.py adopt_server_key"""

from __future__ import annotations

from typing import Any

from django.conf import settings
from django.core.management.base import BaseCommand, CommandError, CommandParser

from octostore import env
from octostore.keyfile import add_server_key
from octostore.leases import keyring
from octostore.teams.management.wording import in_words


class Command(BaseCommand):
    help = (
        "Let the database be served under this environment's current server key. Live leases are not touched;"
        " keep the old key behind the new one for as long as leases granted under it may be retried, and until the"
        " worker has sealed the secrets of webhooks anew."
    )

    def add_arguments(self, parser: CommandParser) -> None:
        parser.add_argument(
            "--new", action="store_true", help="first put a fresh key in front of those in the data directory"
        )

    def handle(self, *args: Any, new: bool, **options: Any) -> None:
        if new and env.secret("OCTOSTORE_SERVER_KEY"):
            raise CommandError("The server key comes from OCTOSTORE_SERVER_KEY: put a new one in front of it there.")
        with in_words():
            key = add_server_key(settings.DATA_DIR) if new else keyring.current()
            keyring.adopt(key)
        self.stdout.write(f"The database now knows the server key {key.id}.")
        if new:
            self.stdout.write("Restart every process, so that new leases are granted under it.")
