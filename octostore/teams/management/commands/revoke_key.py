"""manage.py revoke_key"""

from __future__ import annotations

from typing import Any

from django.core.management.base import BaseCommand, CommandError, CommandParser

from octostore.teams import keys, services
from octostore.teams.audit import Act
from octostore.teams.management.wording import in_words


class Command(BaseCommand):
    help = "Revoke an API key of a team: it is refused at once, and its streams and waits end within 15 s."
    requires_system_checks = ()

    def add_arguments(self, parser: CommandParser) -> None:
        parser.add_argument("--team", required=True, help="the team's slug")
        which = parser.add_mutually_exclusive_group(required=True)
        which.add_argument("--key", metavar="VISIBLE", help="the 12 characters behind osk_")
        which.add_argument("--name", help="the key's name, where only one has it")
        parser.add_argument("--reason", default="", help="why, for the audit log")

    def handle(self, *args: Any, team: str, key: str | None, name: str | None, reason: str, **options: Any) -> None:
        with in_words():
            found = services.find_team(slug=team)
            live = [one.visible for one in services.live_keys(team=found) if name in (None, one.name)]
            if name and not live:
                raise CommandError("The team has no live key of this name.")
            if name and len(live) > 1:
                raise CommandError(f"Several keys have this name; say which with --key: {', '.join(live)}")
            visible = key or live[0]
            keys.revoke(team_id=found.id, visible=visible, act=Act(actor="system", reason=reason))
        self.stdout.write(f"Revoked osk_{visible}.")
