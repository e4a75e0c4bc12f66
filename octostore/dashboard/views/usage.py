"""How much of its limits a team uses."""

from __future__ import annotations

from django.http import HttpRequest, HttpResponse
from django.views.decorators.http import require_safe

from octostore.dashboard.queries import leases
from octostore.dashboard.queries import usage as queries
from octostore.dashboard.showing import show
from octostore.teams.models import Membership


@require_safe
def index(request: HttpRequest, by: Membership) -> HttpResponse:
    context = {"now": leases.now(), "usage": queries.usage(by)}
    return show(request, by, "usage/index.html", context, fragment="usage/_table.html")
