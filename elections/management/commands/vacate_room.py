"""manage.py vacate_room"""

from __future__ import annotations

from typing import Any

from django.core.management.base import BaseCommand, CommandError, CommandParser

from elections import rules, services
from octostore.lib.errors import DomainError


class Command(BaseCommand):
    help = (
        "End one term of a room, with a reason. Its leader is not stopped by this: it learns at its next renewal, and"
        " its late writes are refused only where the term is checked."
    )
    requires_system_checks = ()

    def add_arguments(self, parser: CommandParser) -> None:
        parser.add_argument("room", help="the election_id")
        parser.add_argument("--term", required=True, help="the term to end; a later one is left alone")
        parser.add_argument("--reason", required=True, help="why, for the room's history and the audit log")
        parser.add_argument("--actor", default="staff", help="who does this (default: staff)")

    def handle(self, *args: Any, room: str, term: str, reason: str, actor: str, **options: Any) -> None:
        try:
            ended = services.vacate(
                election_id=rules.election_id(room), term=rules.term(term), reason=reason, actor=actor
            )
        except DomainError as error:
            raise CommandError(f"{error}.") from error
        self.stdout.write(f"Ended term {ended.term}, which {ended.holder} led.")
