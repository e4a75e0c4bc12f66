"""A team at a glance."""

from __future__ import annotations

from django.http import HttpRequest, HttpResponse
from django.views.decorators.http import require_safe

from octostore.api.address import service_url
from octostore.dashboard.queries import overview as queries
from octostore.dashboard.showing import show
from octostore.teams.models import Membership


@require_safe
def index(request: HttpRequest, by: Membership) -> HttpResponse:
    overview = queries.overview(by)
    context = {"overview": overview, "now": overview.at, "url": service_url(request)}
    return show(request, by, "overview/index.html", context, fragment="overview/_state.html")
