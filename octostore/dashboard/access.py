"""Who comes in: members into their team's pages, staff into the pages of all rooms.

What each page asks of a member stands beside its address, in `octostore.dashboard.urls`.
"""

from __future__ import annotations

import time
from collections.abc import Callable
from datetime import timedelta
from functools import wraps
from typing import Any
from urllib.parse import urlencode

from allauth.account.adapter import get_adapter
from allauth.account.authentication import get_authentication_records
from django.contrib import admin
from django.contrib.auth.views import redirect_to_login
from django.http import HttpRequest, HttpResponse, HttpResponseRedirect
from django.http.response import HttpResponseBase
from django.utils.cache import patch_vary_headers
from django_htmx.http import HttpResponseClientRedirect

from octostore.lib.errors import DomainError, Forbidden, NotFound
from octostore.pages import errors
from octostore.pages.fragments import asks_for_part
from octostore.teams import roles, services
from octostore.teams.models import Membership, Role, User
from octostore.teams.roles import Permission

# How long a sign-in is good for what makes, replaces or ends keys.
LATELY = timedelta(minutes=15)

# As many are named to whoever lacks a role.
OWNERS = 3

View = Callable[..., HttpResponseBase]


def for_members(view: View, permission: Permission, *, lately: bool = False) -> View:
    """`view(request, membership, ...)` for members whose role has the permission; `lately`: who signed in just now.

    A team of others is answered as one that is not there, and so is whatever is not found in one's own.
    """

    @wraps(view)
    def entered(request: HttpRequest, slug: str, **parts: Any) -> HttpResponseBase:
        if not isinstance(request.user, User):
            return _sign_in(request)
        by = services.membership_of(slug=slug, user=request.user)
        if not roles.may(by.role, permission):
            raise Forbidden(_refusal(by, permission))
        if lately and not signed_in_lately(request):
            return _sign_in_again(request)
        return view(request, by, **parts)

    return _answering(entered)


def for_staff(view: View) -> View:
    """`view(request, ...)` for whom the staff area lets in."""

    @wraps(view)
    def entered(request: HttpRequest, **parts: Any) -> HttpResponseBase:
        if not request.user.is_authenticated:
            return _sign_in(request)
        if not admin.site.has_permission(request):
            return admin.site.login(request)
        return view(request, **parts)

    return _answering(entered)


def signed_in_lately(request: HttpRequest) -> bool:
    """Whether whoever is there has proved within the last quarter of an hour who they are."""
    records = get_authentication_records(request, request.user)
    latest = max((record["at"] for record in records), default=0.0)
    return bool(time.time() - latest < LATELY.total_seconds())


def _answering(view: View) -> View:
    """What the view refuses becomes a page; what is not found is always the same one."""

    @wraps(view)
    def answered(request: HttpRequest, **parts: Any) -> HttpResponseBase:
        try:
            response = view(request, **parts)
        except DomainError as error:
            if error.answer_status >= 500:
                raise
            response = errors.page(request, NotFound() if isinstance(error, NotFound) else error)
        if isinstance(response, HttpResponseRedirect) and asks_for_part(request):
            # The whole page goes there, and not the part of it that asked.
            response = HttpResponseClientRedirect(response.url)
        patch_vary_headers(response, ["HX-Request"])
        return response

    return answered


def _sign_in(request: HttpRequest) -> HttpResponse:
    # Whoever asked for a part of a page cannot use another page in its place.
    return HttpResponse(status=401) if asks_for_part(request) else redirect_to_login(_page_of(request))


def _sign_in_again(request: HttpRequest) -> HttpResponse:
    methods = get_adapter().get_reauthentication_methods(request.user)
    if not methods:
        raise Forbidden("This needs a sign-in of the last 15 minutes: sign out, and in again.")
    return HttpResponseRedirect(f"{methods[0]['url']}?{urlencode({'next': _page_of(request)})}")


def _page_of(request: HttpRequest) -> str:
    """Where to come back to: what was looked at, or whose form was sent, as some addresses take forms alone."""
    ours, came_from = request.build_absolute_uri("/"), request.headers.get("Referer", "")
    if request.method in {"GET", "HEAD"} or not came_from.startswith(ours):
        return request.get_full_path()
    return f"/{came_from.removeprefix(ours)}"


def _refusal(by: Membership, permission: Permission) -> str:
    """What is missing and who can give it: told to members alone."""
    enough = " or ".join(role for role in Role if roles.may(role, permission))
    owners = by.team.memberships.filter(role=Role.OWNER).order_by("id").values_list("user__email", flat=True)
    return f"This needs the role {enough}, and yours is {by.role}. Ask an owner: {', '.join(owners[:OWNERS])}."
