"""The account's own pages beside those of sign-in."""

from __future__ import annotations

from django.contrib import messages
from django.contrib.auth.decorators import login_required
from django.contrib.auth.views import redirect_to_login
from django.http import HttpRequest, HttpResponse
from django.shortcuts import redirect, render
from django.views.decorators.http import require_http_methods, require_safe

from octostore.api.request_id import request_id_of
from octostore.lib.errors import NotFound
from octostore.pages import errors
from octostore.pages.invitations import keep, let_go
from octostore.teams import invitations
from octostore.teams.models import User


@require_safe
@login_required
def home(request: HttpRequest) -> HttpResponse:
    """Who is signed in, and the teams they belong to."""
    assert isinstance(request.user, User)
    memberships = request.user.memberships.select_related("team").order_by("team__slug")
    return render(request, "pages/home.html", {"memberships": memberships})


@require_safe
def shortcuts(request: HttpRequest) -> HttpResponse:
    """The keys that every page listens to."""
    return render(request, "pages/shortcuts.html")


@require_http_methods(["GET", "HEAD", "POST"])
def invitation(request: HttpRequest, text: str) -> HttpResponse:
    """An invitation to a team: sign in or up, then join it."""
    try:
        found = invitations.find(text)
        if request.method == "POST" and isinstance(request.user, User):
            member = invitations.accept(text=text, user=request.user, request_id=request_id_of(request))
            let_go(request)
            messages.success(request, f"You belong to {member.team} now.")
            return redirect("team_overview", member.team.slug)
    except NotFound as error:
        return errors.page(request, error)
    if request.method == "POST":
        return redirect_to_login(request.get_full_path())
    if not request.user.is_authenticated:
        keep(request, text, found)
    return render(request, "pages/invitation.html", {"invitation": found, "here": request.path})
