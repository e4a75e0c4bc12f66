"""The page of a room and its other forms: anybody may read, nobody can act."""

from __future__ import annotations

import re
from collections.abc import Callable

from django.http import HttpRequest, HttpResponse
from django.shortcuts import render
from django.utils.cache import patch_vary_headers
from django.views.decorators.http import require_safe

from elections import rules, services
from octostore.api.address import service_url
from octostore.api.errors import respond as envelope
from octostore.lib import ids
from octostore.lib.errors import Conflict, DomainError, InvalidInput, Unavailable
from octostore.pages import errors, rooms
from octostore.pages.fragments import asks_for_part, cached, has, unchanged
from octostore.pages.joining import snippets
from octostore.pages.room_forms import as_badge, as_json, as_text
from octostore.pages.rooms import Room

# The id is all it takes to join, so no other site is to learn it from a browser.
HEADERS = {"X-Robots-Tag": "noindex, nofollow", "Referrer-Policy": "no-referrer"}
MEDIA_TYPES = {"text/html": "", "application/json": "json", "text/plain": "txt", "image/svg+xml": "svg"}
_OUTSIDE = re.compile(r"[^A-Za-z0-9_-]+")

Render = Callable[[HttpRequest, Room], HttpResponse]


@require_safe
def room(request: HttpRequest, election_id: str, form: str | None = None) -> HttpResponse:
    """A room in the form asked for: by extension, by Accept, else the page.

    `?require=held` answers 409 while nobody leads. 400 for an id that is none, 403 where rooms are
    switched off; in the form's own language.
    """
    wanted = _preferred(request) if form is None else form
    try:
        found = _read(election_id, request)
        if request.GET.get("require") == "held" and not found.leader:
            raise Conflict("Nobody leads this room")
        answer = FORMS[wanted](request, found)
    except DomainError as error:
        answer = _refuse(request, election_id, wanted, error)
    if form is None:
        patch_vary_headers(answer, ["Accept"])
    return _private(answer)


@require_safe
def state(request: HttpRequest, election_id: str) -> HttpResponse:
    """What the page gets again when something changed. 204 with `?have=` for who has this version, 304 likewise."""
    found = _read(election_id, request)
    if has(request, found.version):
        return _private(unchanged())
    tag = f'W/"{found.version}-{found.span}"'
    if request.headers.get("If-None-Match") == tag:
        return _private(HttpResponse(status=304, headers={"ETag": tag}))
    answer = render(request, "pages/room/_state.html", {**_shown(found), "title": found.title})
    answer["ETag"] = tag
    return _private(answer)


@require_safe
def older(request: HttpRequest, election_id: str) -> HttpResponse:
    """The terms below `?before=`: rows for htmx, a page of its own without."""
    services.require_open()
    before = rules.term(request.GET.get("before", ""))
    address = rules.election_id(election_id)
    terms = rooms.older(address, before)
    context = {"room_id": address, "terms": terms, "before": terms[-1].term if len(terms) == rooms.OLDER else None}
    template = "pages/room/_older.html" if asks_for_part(request) else "pages/room/older.html"
    answer = render(request, template, context)
    patch_vary_headers(answer, ["HX-Request"])
    return _private(answer)


def _read(election_id: str, request: HttpRequest) -> Room:
    services.require_open()
    return rooms.read(rules.election_id(election_id), span="day" if request.GET.get("span") == "day" else "terms")


def _page(request: HttpRequest, found: Room) -> HttpResponse:
    join = snippets(service_url(request), found.election_id)
    return render(request, "pages/room/index.html", {**_shown(found), "snippets": join})


def _shown(found: Room) -> dict[str, object]:
    return {"room": found, "health": found.steadiness}


FORMS: dict[str, Render] = {
    "": _page,
    "json": lambda _, found: as_json(found),
    "txt": lambda _, found: cached(as_text(found), "public, max-age=5"),
    "svg": lambda _, found: cached(as_badge(found), "public, max-age=5"),
}


def _refuse(request: HttpRequest, election_id: str, form: str, error: DomainError) -> HttpResponse:
    match form:
        case "json":
            return envelope(request, error)
        case "txt":
            word = "VACANT" if isinstance(error, Conflict) else "UNKNOWN" if isinstance(error, Unavailable) else "ERROR"
            text = f"{word} {error.details or error.text}\n"
            return HttpResponse(text, status=error.answer_status, content_type="text/plain; charset=utf-8")
        case "svg":
            return as_badge(None, status=error.answer_status)
        case _ if isinstance(error, InvalidInput):
            context = {"parts": _marked(election_id), "rule": ids.ELECTION_ID_RULE}
            return errors.page(request, error, template="pages/room/malformed.html", **context)
        case _:
            return errors.page(request, error)


def _marked(text: str) -> list[tuple[str, bool]]:
    """The text in pieces, each with whether it is what an id may not have."""
    pieces: list[tuple[str, bool]] = []
    at = 0
    for match in _OUTSIDE.finditer(text[:80]):
        pieces += [(text[at : match.start()], False), (match[0], True)]
        at = match.end()
    return [piece for piece in [*pieces, (text[at:80], False)] if piece[0]]


def _preferred(request: HttpRequest) -> str:
    return MEDIA_TYPES[request.get_preferred_type([*MEDIA_TYPES]) or "text/html"]


def _private(answer: HttpResponse) -> HttpResponse:
    for name, value in HEADERS.items():
        answer[name] = value
    return answer if hasattr(answer, "cache_policy") else cached(answer, "private, no-cache")
