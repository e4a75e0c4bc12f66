"""The sessions of a team, and the end of one on a member's word."""

from __future__ import annotations

from django.contrib import messages
from django.http import HttpRequest, HttpResponse
from django.shortcuts import redirect
from django.views.decorators.http import require_http_methods, require_safe

from locks import sessions
from octostore.api.request_id import request_id_of
from octostore.dashboard.forms import ReasonForm
from octostore.dashboard.queries import sessions as queries
from octostore.dashboard.queries.sessions import Detail
from octostore.dashboard.showing import show, tell
from octostore.lib.errors import InvalidInput, NotFound, SessionExpired
from octostore.teams.models import Membership


@require_safe
def index(request: HttpRequest, by: Membership) -> HttpResponse:
    status = request.GET.get("status", queries.STATUSES[0])
    if status not in queries.STATUSES:
        raise InvalidInput("There is no such list of sessions")
    page = queries.page(by, status, request.GET.get("cursor"))
    context = {"page": page, "shown": status, "now": page.at}
    return show(request, by, "sessions/index.html", context, fragment="sessions/_table.html")


@require_safe
def detail(request: HttpRequest, by: Membership, number: int) -> HttpResponse:
    found = _found(by, number)
    context = {"session": found.session, "held": found.held, "now": found.at}
    return show(request, by, "sessions/detail.html", context, fragment="sessions/_state.html")


@require_http_methods(["GET", "HEAD", "POST"])
def terminate(request: HttpRequest, by: Membership, number: int) -> HttpResponse:
    """A form that says what goes with the session, and its consequence."""
    found = _found(by, number)
    form = ReasonForm(request.POST or None)
    if request.method == "POST" and form.is_valid():
        try:
            sessions.terminate(
                principal=by, number=number, reason=form.cleaned_data["reason"], request_id=request_id_of(request)
            )
        except SessionExpired:
            messages.info(request, "That session had ended already: nothing was changed.")
        else:
            tell(by, "sessions")
            messages.success(request, "Terminated the session.")
        return redirect("team_session", by.team.slug, number)
    context = {
        "form": form,
        "session": found.session,
        "going": [line for line in found.held if line.is_ephemeral],
        "staying": [line for line in found.held if not line.is_ephemeral],
        "now": found.at,
    }
    return show(request, by, "sessions/terminate.html", context, status=422 if form.errors else 200)


def _found(by: Membership, number: int) -> Detail:
    found = queries.detail(by, number)
    if found is None:
        raise NotFound
    return found
