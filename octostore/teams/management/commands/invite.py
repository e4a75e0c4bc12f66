"""manage.py invite"""

from __future__ import annotations

from typing import Any

from django.core.management.base import BaseCommand, CommandParser

from octostore.teams import invitations, services
from octostore.teams.audit import Act
from octostore.teams.management.wording import in_words
from octostore.teams.models import Role


class Command(BaseCommand):
    help = (
        "Invite somebody to a team. Prints the link's path, alone on the last line: pass it on under the address of"
        " this service. It is open for a week, and opens sign-up for this address."
    )
    requires_system_checks = ()

    def add_arguments(self, parser: CommandParser) -> None:
        parser.add_argument("--team", required=True, help="the team's slug")
        parser.add_argument("--email", required=True)
        parser.add_argument("--role", choices=Role.values, default=Role.MEMBER.value, help="default: member")

    def handle(self, *args: Any, team: str, email: str, role: str, **options: Any) -> None:
        with in_words():
            invited = invitations.offer(
                team=services.find_team(slug=team), email=email, role=role, invited_by=None, act=Act(actor="system")
            )
        self.stdout.write(f"Invited {invited.invitation.email} to {team} as {role}; the link is told this once:")
        self.stdout.write(invitations.path(invited.text, mailed=True))
