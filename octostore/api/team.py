"""What a team asks about itself with one of its keys: a new secret for the key, and how much of each limit is used."""

from __future__ import annotations

from django.http import HttpResponse
from rest_framework.request import Request

from octostore.api import team_docs as docs
from octostore.api.authentication import require
from octostore.api.bodies import read_object
from octostore.api.door import Body, Caller, Reply, caller_of, respond
from octostore.api.team_docs import RotatedOutput, Usage, UsageOutput
from octostore.api.views import JsonView
from octostore.leases import engine, walking
from octostore.lib.errors import AuthenticationFailed, NotFound
from octostore.live.seats import seats, streams_of, waits_of
from octostore.teams import keys, limits
from octostore.teams.audit import Act
from octostore.teams.principals import Acting


def rotate(body: Body, caller: Caller) -> Reply:
    body()
    principal = require(caller, None)
    try:
        text = keys.rotate(
            team_id=principal.team_id,
            visible=principal.visible,
            rotation=principal.rotation,
            act=Act(actor=principal.actor, request_id=caller.request_id),
        )
    except NotFound as error:
        # Rotated or revoked since it was looked up: by now it is a wrong key.
        raise AuthenticationFailed from error
    return Reply(
        shape=RotatedOutput(
            secret=text,
            user_id=principal.team_uuid,
            github_username=principal.key_name,
            namespace=principal.prefix,
        )
    )


def usage(caller: Caller) -> Reply:
    principal = require(caller, "read")
    return Reply(shape=used_by(principal, principal.team_uuid))


def used_by(acting: Acting, team_uuid: str) -> UsageOutput:
    """How much of each limit the team uses now; streams and waits in this process."""
    space, caps = acting.lock_space, limits.of(acting.team_id)
    return UsageOutput(
        locks=Usage(used=sum(engine.count_live(space).values()), cap=caps.locks),
        sessions=Usage(used=walking.count_groups(space), cap=caps.sessions),
        streams=Usage(used=seats.taken_by(streams_of(team_uuid)), cap=caps.streams),
        waits=Usage(used=seats.taken_by(waits_of(team_uuid)), cap=caps.waits),
    )


class RotateView(JsonView):
    @docs.rotate
    def post(self, request: Request) -> HttpResponse:
        return respond(rotate(lambda: read_object(request), caller_of(request)))


class UsageView(JsonView):
    @docs.usage
    def get(self, request: Request) -> HttpResponse:
        return respond(usage(caller_of(request)))
