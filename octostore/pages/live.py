"""The stream of a page: hints at what to get again, for whoever may see what they are about."""

from __future__ import annotations

from django.contrib import admin
from django.contrib.auth import HASH_SESSION_KEY
from django.http import HttpRequest, HttpResponse
from django.views.decorators.http import require_safe

from elections import rules, services
from octostore.api.client import client_of
from octostore.lib.errors import AuthenticationRequired, InvalidInput, NotFound
from octostore.live.hints import Name
from octostore.live.pages import take_seat
from octostore.live.tickets import PageTicket, TicketResponse
from octostore.teams.models import User
from octostore.teams.services import membership_of
from octostore.teams.visits import Visit

TOPICS_MAX = 8


@require_safe
def live(request: HttpRequest) -> HttpResponse:
    """`?topics=room:<id>,team:<slug>,ops`: a room for everybody, a team for its members, ops for staff.

    400 for a topic that is none; 401 without a sign-in that is needed; 404 for what the reader may not see;
    429 when too many pages are open.
    """
    topics = request.GET.get("topics", "").split(",")
    if len(topics) > TOPICS_MAX:
        raise InvalidInput(f"a page has at most {TOPICS_MAX} topics")
    names: dict[Name, str] = {}
    spaces: dict[str, str] = {}
    teams: set[int] = set()
    for topic in topics:
        kind, _, rest = topic.partition(":")
        if kind == "room":
            names[services.SPACE, rules.election_id(rest)] = topic
            services.require_open()
        elif kind == "team":
            team = membership_of(slug=rest, user=_person(request)).team
            teams.add(team.id)
            spaces |= dict.fromkeys((team.lock_space, f"team/{team.uuid}"), topic)
        elif topic == "ops":
            _require_staff(request)
            spaces[""] = topic
        else:
            raise InvalidInput("topics are room:<id>, team:<slug> and ops, separated by commas")
    visit = _visit(request, frozenset(teams), as_staff="" in spaces) if spaces else None
    give_back = take_seat(f"user {visit.user_id}" if visit else client_of(request))
    return TicketResponse(PageTicket(names=names, spaces=spaces, give_back=give_back, visit=visit))


def _person(request: HttpRequest) -> User:
    if not isinstance(request.user, User):
        raise AuthenticationRequired
    return request.user


def _require_staff(request: HttpRequest) -> None:
    _person(request)
    if not admin.site.has_permission(request):
        raise NotFound


def _visit(request: HttpRequest, teams: frozenset[int], *, as_staff: bool) -> Visit:
    return Visit(
        user_id=_person(request).id,
        session=request.session.session_key or "",
        password_stamp=request.session[HASH_SESSION_KEY],
        teams=teams,
        as_staff=as_staff,
    )
