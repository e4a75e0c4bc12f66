"""The verbs of a session as pure steps: decode, one call, encode.

All need the scope `locks`: whoever knows a session's id acts as that session.
"""

from __future__ import annotations

from locks import answers, rules, sessions, shapes
from octostore.api import cursors, paging
from octostore.api.authentication import require
from octostore.api.bodies import fill
from octostore.api.counting import counted_as
from octostore.api.door import Body, Caller, Reply


@counted_as("sessions")
def begin(body: Body, caller: Caller) -> Reply:
    asked = fill(shapes.SessionInput, body())
    principal = require(caller, "locks")
    session = sessions.begin(principal=principal, ttl=rules.session_ttl(asked.ttl_seconds))
    return Reply(shape=answers.session_begun(session), status=201, outcome="begun")


@counted_as("sessions")
def keep(session_id: str, body: Body, caller: Caller) -> Reply:
    body()
    principal = require(caller, "locks")
    session = sessions.keep(principal=principal, session_id=rules.known_session(session_id))
    return Reply(shape=answers.session_kept(session), outcome="kept")


@counted_as("sessions")
def end(session_id: str, caller: Caller) -> Reply:
    principal = require(caller, "locks")
    sessions.end(principal=principal, session_id=rules.known_session(session_id))
    return Reply(shape=None, status=204, outcome="ended")


def status(session_id: str, caller: Caller) -> Reply:
    principal = require(caller, "locks")
    session, lock_count = sessions.status(principal=principal, session_id=rules.known_session(session_id))
    return Reply(shape=answers.session(principal.team_uuid, session, lock_count))


def walk(caller: Caller, *, cursor: str | None, limit: str | None) -> Reply:
    principal = require(caller, "locks")
    size = paging.limit(limit)
    list_of = f"sessions {principal.team_uuid}"
    after = int(cursors.unseal(list_of, cursor) or 0)
    page = sessions.walk(principal=principal, after=after, limit=size + 1)
    shown, next_cursor = cursors.cut(list_of, page, size, lambda session: session[0].id)
    return Reply(shape=answers.sessions(principal.team_uuid, shown, next_cursor=next_cursor))
