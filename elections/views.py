"""The doors of elections: parse, one step, render."""

from __future__ import annotations

from django.http import HttpResponse
from rest_framework.request import Request

from elections import docs, verbs
from elections.script import script
from elections.shapes import RoomOutput
from octostore.api.address import service_url
from octostore.api.bodies import read_object
from octostore.api.door import caller_of, respond
from octostore.api.views import JsonView


class ElectionsView(JsonView):
    @docs.create
    def post(self, request: Request) -> HttpResponse:
        reply = verbs.create(lambda: read_object(request), caller_of(request), service_url=service_url(request))
        if _wants_script(request):
            assert isinstance(reply.shape, RoomOutput)
            return HttpResponse(script(reply.shape), status=reply.status, content_type="text/plain; charset=utf-8")
        return respond(reply)


class ElectionView(JsonView):
    @docs.status
    def get(self, request: Request, election_id: str) -> HttpResponse:
        return respond(verbs.status(election_id))


class CampaignView(JsonView):
    @docs.campaign
    def post(self, request: Request, election_id: str) -> HttpResponse:
        attempt = request.headers.get("Idempotency-Key")
        return respond(verbs.campaign(election_id, lambda: read_object(request), caller_of(request), attempt=attempt))


class WatchView(JsonView):
    @docs.watch
    def get(self, request: Request, election_id: str) -> HttpResponse:
        last_event_id = request.headers.get("Last-Event-ID")
        return respond(verbs.open_watch(election_id, caller_of(request), last_event_id=last_event_id))


class RenewView(JsonView):
    @docs.renew
    def post(self, request: Request, election_id: str) -> HttpResponse:
        return respond(verbs.renew(election_id, lambda: read_object(request), caller_of(request)))


class ResignView(JsonView):
    @docs.resign
    def post(self, request: Request, election_id: str) -> HttpResponse:
        return respond(verbs.resign(election_id, lambda: read_object(request), caller_of(request)))


class TermsView(JsonView):
    @docs.terms
    def get(self, request: Request, election_id: str) -> HttpResponse:
        return respond(verbs.terms(election_id, limit=request.query_params.get("limit")))


class TermView(JsonView):
    @docs.term_status
    def get(self, request: Request, election_id: str, term: str) -> HttpResponse:
        return respond(verbs.term_status(election_id, term))


def _wants_script(request: Request) -> bool:
    """Whether the caller asks for text more than for JSON; curl, which takes anything, gets JSON."""
    if request.query_params.get("format") == "sh":
        return True
    preferred: str | None = request._request.get_preferred_type(["application/json", "text/plain"])
    return preferred == "text/plain"
