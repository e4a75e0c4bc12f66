"""manage.py set_quota"""

from __future__ import annotations

from argparse import SUPPRESS, ArgumentTypeError
from typing import Any

from django.core.management.base import BaseCommand, CommandError, CommandParser

from octostore.teams import limits, services
from octostore.teams.audit import Act
from octostore.teams.management.wording import in_words

DEFAULT = "default"


def amount(text: str) -> int | None:
    """A whole number, or `default` for the service's own limit."""
    if text != DEFAULT and not text.isdecimal():
        raise ArgumentTypeError(f"{text!r} is neither a whole number nor {DEFAULT}")
    return None if text == DEFAULT else int(text)


class Command(BaseCommand):
    help = "Give a team limits of its own; what is not named stays as it is. Prints the limits it has then."
    requires_system_checks = ()

    def add_arguments(self, parser: CommandParser) -> None:
        parser.add_argument("--team", required=True, help="the team's slug")
        for name in limits.NAMES:
            parser.add_argument(
                f"--{name}",
                type=amount,
                default=SUPPRESS,
                metavar="N",
                help=f"how many {name} at once, or `{DEFAULT}`",
            )
        parser.add_argument("--reason", default="", help="why, for the audit log")

    def handle(self, *args: Any, team: str, reason: str, **options: Any) -> None:
        changes = {name: options[name] for name in limits.NAMES if name in options}
        if not changes:
            raise CommandError(f"Name at least one of {', '.join('--' + name for name in limits.NAMES)}.")
        with in_words():
            found = services.find_team(slug=team)
            services.set_quota(team=found, changes=changes, act=Act(actor="system", reason=reason))
            now = limits.of(found.id)
        self.stdout.write(" ".join(f"{name}={getattr(now, name)}" for name in limits.NAMES))
