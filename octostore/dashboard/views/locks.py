"""The locks of a team: all of them, one of them, and the end of a term on a member's word."""

from __future__ import annotations

from datetime import timedelta

from django.conf import settings
from django.contrib import messages
from django.http import HttpRequest, HttpResponse
from django.shortcuts import redirect
from django.views.decorators.http import require_http_methods, require_safe

from locks import names, services
from octostore.api.address import service_url
from octostore.api.request_id import request_id_of
from octostore.dashboard import snippets
from octostore.dashboard.forms import LocksForm, RevokeLockForm
from octostore.dashboard.queries import locks as queries
from octostore.dashboard.queries.locks import Asked, Detail
from octostore.dashboard.showing import show
from octostore.lib.errors import Conflict, InvalidInput, InvalidLockName, NotFound
from octostore.teams.models import Membership


@require_safe
def index(request: HttpRequest, by: Membership) -> HttpResponse:
    form = LocksForm({"status": queries.ACTIVE} | request.GET.dict())
    if not form.is_valid():
        raise InvalidInput("There is no such filter")
    asked = Asked(**form.cleaned_data)
    page = queries.page(by, asked, request.GET.get("cursor"))
    context = {"form": form, "page": page, "asked": asked, "now": page.at}
    return show(request, by, "locks/index.html", context, fragment="locks/_table.html")


@require_safe
def detail(request: HttpRequest, by: Membership, name: str) -> HttpResponse:
    before = request.GET.get("before")
    found = _found(by, name, before=None if before is None else _term(before))
    context = {
        "lock": found.line,
        "found": found,
        "terms": found.terms,
        "pictured": found.terms[: queries.PICTURED] if before is None else [],
        "now": found.at,
        "snippets": snippets.of_lock(service_url(request), name),
    }
    return show(request, by, "locks/detail.html", context, fragment="locks/_state.html")


@require_http_methods(["GET", "HEAD", "POST"])
def revoke(request: HttpRequest, by: Membership, name: str) -> HttpResponse:
    """A form to confirm, and its consequence. 409 where the term that was shown is over."""
    found = _found(by, name)
    left = max(0, found.line.expires_at - found.at) if found.line.is_live else 0
    initial = {
        "term": found.line.term,
        "delay_seconds": min(-(-left // 1000), settings.LOCK_DELAY_MAX_SECONDS),
        # As it was written for a term that was over.
        "reason": request.GET.get("reason", ""),
    }
    form = RevokeLockForm(request.POST or None, initial=initial, expected=name, label="The lock's name")
    if request.method == "POST" and form.is_valid():
        given = form.cleaned_data
        try:
            services.revoke(
                principal=by,
                name=name,
                term=given["term"],
                reason=given["reason"],
                delay=timedelta(seconds=given["delay_seconds"]),
                request_id=request_id_of(request),
            )
        except Conflict:
            present = _found(by, name)
            over = {"lock": present.line, "now": present.at, "given": given}
            return show(request, by, "locks/over.html", over, status=409)
        messages.success(request, f"Ended term {given['term']} of {name}.")
        return redirect("team_lock", by.team.slug, name)
    context = {"lock": found.line, "now": found.at, "form": form, "key": found.key_name}
    return show(request, by, "locks/revoke.html", context, status=422 if form.errors else 200)


def _term(text: str) -> int:
    if not (text.isascii() and text.isdecimal() and len(text) <= 16):
        raise InvalidInput("There is no such term")
    return int(text)


def _found(by: Membership, name: str, *, before: int | None = None) -> Detail:
    try:
        found = queries.detail(by, names.lock_name(name), before)
    except InvalidLockName as error:
        raise NotFound from error
    if found is None:
        raise NotFound
    return found
