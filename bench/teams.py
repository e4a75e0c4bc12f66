"""`python -m bench.teams NUMBER`: so many teams with an API key each, printed a line each."""

from __future__ import annotations

import sys

import django

django.setup()

from octostore.teams import keys  # noqa: E402
from octostore.teams.audit import Act  # noqa: E402
from octostore.teams.models import Team  # noqa: E402

if __name__ == "__main__":
    for number in range(int(sys.argv[1])):
        team = Team.objects.create(slug=f"bench-{number}")
        print(keys.create(team=team, name="bench", scopes=["locks"], act=Act(actor="system")).text)
