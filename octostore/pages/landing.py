"""The pages a visitor sees first: what this is, a room to try, and a start that is ticked off."""

from __future__ import annotations

from django.conf import settings
from django.http import HttpRequest, HttpResponse
from django.shortcuts import redirect, render
from django.utils.cache import patch_vary_headers
from django.views.decorators.http import require_http_methods, require_POST, require_safe

from elections import rules, services
from octostore.api.address import service_url
from octostore.api.client import client_of
from octostore.api.service import RootView
from octostore.lib import ids
from octostore.pages import rooms
from octostore.pages.fragments import cached, has, unchanged
from octostore.pages.joining import snippets
from octostore.pages.middleware import asks_for_html

_api = RootView.as_view()
LIMITS = (
    "ELECTION_TTL_MIN_SECONDS",
    "ELECTION_TTL_MAX_SECONDS",
    "ELECTION_REQUESTS_PER_MINUTE",
    "LED_ROOMS_MAX_PER_CLIENT",
    "STREAMS_MAX_PER_CLIENT",
    "METADATA_MAX_CHARACTERS",
    "TERMS_KEPT",
)


def root(request: HttpRequest) -> HttpResponse:
    """The landing page for who wants HTML, the API's own answer for everybody else."""
    answer = _landing(request) if asks_for_html(request) else _api(request)
    patch_vary_headers(answer, ["Accept"])
    return answer


def _landing(request: HttpRequest) -> HttpResponse:
    service = service_url(request)
    context = {
        "service": service,
        # An address of each reader's own: two who paste the same one would meet in it.
        "snippets": snippets(service, ids.mint_election_id(), candidate_id="worker-a"),
        "limits": {name.lower(): getattr(settings, name) for name in LIMITS},
        "idle_hours": settings.ROOM_IDLE_SECONDS // 3600,
        "is_open": settings.PUBLIC_ELECTIONS,
    }
    return cached(render(request, "pages/landing/index.html", context), "private, no-cache")


@require_POST
def open_room(request: HttpRequest) -> HttpResponse:
    """A fresh room, and the way to its page. Counts against the client's budget. Raises RateLimited."""
    response = redirect("room", _new_room(request))
    response.status_code = 303
    return response


@require_http_methods(["GET", "HEAD", "POST"])
def start(request: HttpRequest) -> HttpResponse:
    """The quick start; beginning it makes up a room, whose id stays in the address."""
    services.require_open()
    if request.method == "POST":
        response = redirect("started", _new_room(request))
        response.status_code = 303
        return response
    return render(request, "pages/start/index.html")


@require_safe
def started(request: HttpRequest, election_id: str) -> HttpResponse:
    """The quick start in a room of its own: each step is ticked off by what happened there."""
    room = _room(election_id)
    context = {**_steps(room), "service": service_url(request)}
    return cached(render(request, "pages/start/started.html", context), "private, no-cache")


@require_safe
def progress(request: HttpRequest, election_id: str) -> HttpResponse:
    """The steps again; 204 for who has them as they are."""
    room = _room(election_id)
    if has(request, room.version):
        return cached(unchanged(), "private, no-cache")
    context = {**_steps(room), "service": service_url(request), "is_part": True}
    return cached(render(request, "pages/start/_steps.html", context), "private, no-cache")


def _room(election_id: str) -> rooms.Room:
    services.require_open()
    return rooms.read(rules.election_id(election_id))


def _new_room(request: HttpRequest) -> str:
    services.require_open()
    services.open_room(client=client_of(request))
    return ids.mint_election_id()


def _steps(room: rooms.Room) -> dict[str, object]:
    """What has happened: somebody led; and somebody else did after them."""
    first = room.past[-1] if room.past else None
    takeover = next((term for term in reversed(room.past) if first and term.holder != first.holder), None)
    return {"room": room, "first": first, "takeover": takeover}
