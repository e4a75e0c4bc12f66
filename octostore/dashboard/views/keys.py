"""The API keys of a team: seen by every member, made, replaced and ended by those who manage them."""

from __future__ import annotations

from django.contrib import messages
from django.http import HttpRequest, HttpResponse
from django.shortcuts import redirect
from django.views.decorators.http import require_http_methods, require_safe

from octostore.api.address import service_url
from octostore.api.request_id import request_id_of
from octostore.dashboard import once
from octostore.dashboard.forms import KeyForm, OptionalReasonForm, RotateForm
from octostore.dashboard.queries import keys as queries
from octostore.dashboard.queries.keys import Key
from octostore.dashboard.showing import show, tell
from octostore.lib.errors import InvalidInput, NotFound
from octostore.teams import services
from octostore.teams.keys import Issued
from octostore.teams.models import Membership

AGAIN = "That was done already; a key is shown only once. Revoke it if you did not keep it."
OVER = "That key was over already: nothing was changed."


@require_safe
def index(request: HttpRequest, by: Membership) -> HttpResponse:
    shown = request.GET.get("show", queries.SHOWN[0])
    if shown not in queries.SHOWN:
        raise InvalidInput("There is no such list of keys")
    keys = queries.listing(by.team, shown)
    return show(request, by, "keys/index.html", {"keys": keys, "shown": shown})


@require_http_methods(["GET", "HEAD", "POST"])
def create(request: HttpRequest, by: Membership) -> HttpResponse:
    """A form, and its answer: the whole key, this once."""
    form = KeyForm(request.POST or None)
    if request.method != "POST":
        return show(request, by, "keys/new.html", {"form": form})
    if form.is_valid():
        if not once.is_first(request, form):
            return _told(request, by, AGAIN)
        given = form.cleaned_data
        try:
            issued = services.create_key(
                by=by,
                name=given["name"],
                scopes=given["scopes"],
                prefix=given["locks"] or None,
                expires_at=form.expires_at(),
                request_id=request_id_of(request),
            )
        except InvalidInput as error:
            form.add_error(None, error.details or error.text)
        else:
            return _made(request, by, issued)
    return show(request, by, "keys/new.html", {"form": form}, status=422)


@require_http_methods(["GET", "HEAD", "POST"])
def rotate(request: HttpRequest, by: Membership, visible: str) -> HttpResponse:
    """A new key in the place of this one, which may go on for a while."""
    form = RotateForm(request.POST or None)
    is_sent = request.method == "POST" and form.is_valid()
    if is_sent and not once.is_first(request, form):
        return _told(request, by, AGAIN)
    key = _found(by, visible)
    if not key.is_usable:
        return _over(request, by)
    if is_sent:
        issued = services.replace_key(by=by, visible=visible, ends_in=form.length(), request_id=request_id_of(request))
        return _made(request, by, issued, old=queries.one(by.team, visible))
    return show(request, by, "keys/rotate.html", {"form": form, "key": key}, status=422 if form.errors else 200)


@require_http_methods(["GET", "HEAD", "POST"])
def revoke(request: HttpRequest, by: Membership, visible: str) -> HttpResponse:
    key = _found(by, visible)
    if not key.is_usable:
        return _over(request, by)
    form = OptionalReasonForm(request.POST or None)
    if request.method == "POST" and form.is_valid():
        services.revoke_key(
            by=by, visible=visible, reason=form.cleaned_data["reason"], request_id=request_id_of(request)
        )
        tell(by, "keys")
        messages.success(request, f"Revoked the key {key.name} (osk_{visible}…). It is refused from now on.")
        return redirect("team_keys", by.team.slug)
    return show(request, by, "keys/revoke.html", {"form": form, "key": key}, status=422 if form.errors else 200)


def _found(by: Membership, visible: str) -> Key:
    key = queries.one(by.team, visible)
    if key is None:
        raise NotFound
    return key


def _over(request: HttpRequest, by: Membership) -> HttpResponse:
    """Of a key that has ended there is no page; who sends its form has pressed twice, or somebody else was quicker."""
    if request.method != "POST":
        raise NotFound
    return _told(request, by, OVER)


def _made(request: HttpRequest, by: Membership, issued: Issued, old: Key | None = None) -> HttpResponse:
    tell(by, "keys")
    made = queries.one(by.team, issued.key.visible)
    context = {"key": made, "text": issued.text, "old": old, "url": service_url(request)}
    return show(request, by, "keys/made.html", context)


def _told(request: HttpRequest, by: Membership, what: str) -> HttpResponse:
    messages.info(request, what)
    return redirect("team_keys", by.team.slug)
