"""manage.py after_restore"""

from __future__ import annotations

from typing import Any

from django.core.management.base import BaseCommand, CommandParser

from octostore.leases import reaper
from octostore.teams.management.wording import in_words


class Command(BaseCommand):
    help = (
        "End every lease and start a new incarnation of every name. Run it once, before serving again, on a"
        " database that was restored from a backup or promoted without all that its predecessor had acknowledged."
    )

    def add_arguments(self, parser: CommandParser) -> None:
        parser.add_argument("--actor", default="operator", help="who does this, for the history (default: operator)")

    def handle(self, *args: Any, actor: str, **options: Any) -> None:
        with in_words():
            ended = reaper.after_restore(actor=actor)
        self.stdout.write(f"Ended {ended} live lease{'s' if ended != 1 else ''}; every name starts a new incarnation.")
