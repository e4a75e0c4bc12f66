"""manage.py create_team"""

from __future__ import annotations

from typing import Any

from django.core.management.base import BaseCommand, CommandError, CommandParser

from octostore.teams import services
from octostore.teams.audit import Act
from octostore.teams.management.wording import in_words
from octostore.teams.models import User


class Command(BaseCommand):
    help = "Create a team. Prints its public id, alone on the last line."
    requires_system_checks = ()

    def add_arguments(self, parser: CommandParser) -> None:
        parser.add_argument("slug", help=services.SLUG_RULE)
        parser.add_argument("--owner", metavar="EMAIL", help="a user who becomes its owner")

    def handle(self, *args: Any, slug: str, owner: str | None, **options: Any) -> None:
        with in_words():
            user = User.objects.filter(email=owner.lower()).first() if owner else None
            if owner and not user:
                raise CommandError("There is no user of this address; `createsuperuser` makes one.")
            team = services.create_team(slug=slug, owner=user, act=Act(actor="system"))
        self.stdout.write(f"Created the team {team.slug}; its id:")
        self.stdout.write(str(team.uuid))
