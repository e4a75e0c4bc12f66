"""The doors of locks and sessions: parse, one step, render."""

from __future__ import annotations

from django.http import HttpResponse
from rest_framework.request import Request

from locks import docs, session_docs, session_verbs, verbs
from octostore.api.bodies import read_object
from octostore.api.door import caller_of, respond
from octostore.api.views import JsonView


class LocksView(JsonView):
    @docs.walk
    def get(self, request: Request) -> HttpResponse:
        asked = request.query_params
        return respond(
            verbs.walk(
                caller_of(request), prefix=asked.get("prefix"), cursor=asked.get("cursor"), limit=asked.get("limit")
            )
        )


class LockView(JsonView):
    @docs.status
    def get(self, request: Request, name: str) -> HttpResponse:
        return respond(verbs.status(name, caller_of(request)))


class AcquireView(JsonView):
    @docs.acquire
    def post(self, request: Request, name: str) -> HttpResponse:
        attempt = request.headers.get("Idempotency-Key")
        return respond(verbs.acquire(name, lambda: read_object(request), caller_of(request), attempt=attempt))


class RenewView(JsonView):
    @docs.renew
    def post(self, request: Request, name: str) -> HttpResponse:
        return respond(verbs.renew(name, lambda: read_object(request), caller_of(request)))


class ReleaseView(JsonView):
    @docs.release
    def post(self, request: Request, name: str) -> HttpResponse:
        return respond(verbs.release(name, lambda: read_object(request), caller_of(request)))


class RevokeView(JsonView):
    @docs.revoke
    def post(self, request: Request, name: str) -> HttpResponse:
        return respond(verbs.revoke(name, lambda: read_object(request), caller_of(request)))


class WatchView(JsonView):
    @docs.watch
    def get(self, request: Request, name: str) -> HttpResponse:
        last_event_id = request.headers.get("Last-Event-ID")
        return respond(verbs.open_watch(name, caller_of(request), last_event_id=last_event_id))


class HistoryView(JsonView):
    @docs.history
    def get(self, request: Request, name: str) -> HttpResponse:
        return respond(verbs.history(name, caller_of(request), limit=request.query_params.get("limit")))


class AclView(JsonView):
    @docs.put_acl
    def put(self, request: Request, name: str) -> HttpResponse:
        lease_id = request.headers.get("X-Lease-Id")
        return respond(verbs.put_acl(name, lambda: read_object(request), caller_of(request), lease_id=lease_id))

    @docs.delete_acl
    def delete(self, request: Request, name: str) -> HttpResponse:
        return respond(verbs.delete_acl(name, caller_of(request), lease_id=request.headers.get("X-Lease-Id")))


class SessionsView(JsonView):
    @session_docs.begin
    def post(self, request: Request) -> HttpResponse:
        return respond(session_verbs.begin(lambda: read_object(request), caller_of(request)))

    @session_docs.walk
    def get(self, request: Request) -> HttpResponse:
        asked = request.query_params
        return respond(session_verbs.walk(caller_of(request), cursor=asked.get("cursor"), limit=asked.get("limit")))


class SessionView(JsonView):
    @session_docs.status
    def get(self, request: Request, session_id: str) -> HttpResponse:
        return respond(session_verbs.status(session_id, caller_of(request)))

    @session_docs.end
    def delete(self, request: Request, session_id: str) -> HttpResponse:
        return respond(session_verbs.end(session_id, caller_of(request)))


class KeepaliveView(JsonView):
    @session_docs.keep
    def post(self, request: Request, session_id: str) -> HttpResponse:
        return respond(session_verbs.keep(session_id, lambda: read_object(request), caller_of(request)))
