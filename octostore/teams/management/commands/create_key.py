"""manage.py create_key"""

from __future__ import annotations

from datetime import timedelta
from typing import Any

from django.core.management.base import BaseCommand, CommandParser

from octostore.teams import keys, services
from octostore.teams.audit import Act
from octostore.teams.management.wording import in_words, length
from octostore.teams.principals import SCOPES

# All that a worker does; admin is given only when asked for.
DEFAULT_SCOPES = ("read", "locks", "webhooks")


class Command(BaseCommand):
    help = "Create an API key of a team. Prints it, alone on the last line; it is shown this once."
    requires_system_checks = ()

    def add_arguments(self, parser: CommandParser) -> None:
        parser.add_argument("--team", required=True, help="the team's slug")
        parser.add_argument("--name", required=True, help=keys.NAME_RULE)
        parser.add_argument(
            "--scope",
            dest="scopes",
            nargs="+",
            action="extend",
            choices=SCOPES,
            help=f"what it may do (default: {' '.join(DEFAULT_SCOPES)})",
        )
        parser.add_argument("--prefix", help="what the name of every lock must begin with, like repo/")
        parser.add_argument("--expires", type=length, metavar="LENGTH", help="like 90d or 12h (default: never)")

    def handle(
        self,
        *args: Any,
        team: str,
        name: str,
        scopes: list[str] | None,
        prefix: str | None,
        expires: timedelta | None,
        **options: Any,
    ) -> None:
        with in_words():
            issued = keys.create(
                team=services.find_team(slug=team),
                name=name,
                scopes=scopes or DEFAULT_SCOPES,
                prefix=prefix,
                expires_at=keys.lasting(expires),
                act=Act(actor="system"),
            )
        key = issued.key
        until = f"until {key.expires_at:%Y-%m-%d %H:%M} UTC" if key.expires_at else "until it is revoked"
        self.stdout.write(f"Key {key.name} of {team} for {key.scopes}, {until}. It is shown this once:")
        self.stdout.write(issued.text)
