"""The verbs of a room as pure steps: decode, one call, encode; no request objects.

The order of checks is the contract's: path, body, permission, rules.
"""

from __future__ import annotations

import time
from datetime import timedelta
from functools import partial

from elections import answers, rules, services, shapes, waiting, watch
from octostore.api.bodies import fill
from octostore.api.counting import counted_as
from octostore.api.door import Body, Caller, Reply
from octostore.leases.outcomes import Granted
from octostore.lib import ids
from octostore.live.tickets import WaitTicket, WatchTicket

REPLAYED = {"Idempotent-Replayed": "true"}


def create(body: Body, caller: Caller, *, service_url: str) -> Reply:
    body()
    services.require_open()
    services.open_room(client=caller.client)
    return Reply(shape=answers.room(ids.mint_election_id(), service_url), status=201)


@counted_as(services.SPACE)
def campaign(election_id: str, body: Body, caller: Caller, *, attempt: str | None) -> Reply | WaitTicket:
    room = rules.election_id(election_id)
    asked = fill(shapes.CampaignInput, body())
    services.require_open()
    waited = timedelta(seconds=time.monotonic() - caller.received_at) if caller.turn else timedelta(0)
    outcome = waiting.campaign(
        election_id=room,
        candidate_id=rules.candidate_id(asked.candidate_id),
        ttl=rules.ttl(asked.ttl_seconds) or rules.default_ttl(),
        metadata=rules.metadata(asked.metadata),
        attempt=rules.attempt(attempt),
        client=caller.client,
        charged_to=caller.charged_to,
        received_at=caller.received_at,
        wait=rules.wait(asked.wait_seconds),
        turn=caller.turn,
    )
    if isinstance(outcome, WaitTicket):
        return outcome
    if isinstance(outcome, Granted):
        undo = None
        if caller.turn and attempt is None:
            # What an attempt won, the caller may have been told already when it asked again.
            undo = partial(
                services.give_back, election_id=room, capability=outcome.capability, charged_to=caller.charged_to
            )
        return Reply(
            shape=answers.granted(room, outcome, waited=waited),
            headers=REPLAYED if outcome.replayed else {},
            undo=undo,
            outcome="replayed" if outcome.replayed else "won",
        )
    return Reply(shape=answers.follower(room, outcome), outcome="lost")


def status(election_id: str) -> Reply:
    room = rules.election_id(election_id)
    services.require_open()
    return Reply(shape=answers.state(room, services.status(election_id=room)))


def open_watch(election_id: str, caller: Caller, *, last_event_id: str | None) -> WatchTicket:
    room = rules.election_id(election_id)
    services.require_open()
    return watch.open_stream(room, client=caller.client, last_event_id=last_event_id)


@counted_as(services.SPACE)
def renew(election_id: str, body: Body, caller: Caller) -> Reply:
    room = rules.election_id(election_id)
    asked = fill(shapes.RenewInput, body())
    services.require_open()
    outcome = services.renew(
        election_id=room,
        capability=rules.capability(asked.leader_token),
        ttl=rules.ttl(asked.ttl_seconds),
        client=caller.client,
    )
    return Reply(shape=answers.granted(room, outcome), outcome="renewed")


@counted_as(services.SPACE)
def resign(election_id: str, body: Body, caller: Caller) -> Reply:
    room = rules.election_id(election_id)
    asked = fill(shapes.ResignInput, body())
    services.require_open()
    ended = services.resign(
        election_id=room,
        capability=rules.capability(asked.leader_token),
        client=caller.client,
        charged_to=caller.charged_to,
    )
    return Reply(shape=answers.resigned(room, ended), outcome="resigned")


def terms(election_id: str, *, limit: str | None) -> Reply:
    room = rules.election_id(election_id)
    services.require_open()
    past = services.terms(election_id=room, limit=rules.limit(limit))
    return Reply(shape=answers.terms(room, past))


def term_status(election_id: str, term: str) -> Reply:
    room = rules.election_id(election_id)
    number = rules.term(term)
    services.require_open()
    return Reply(shape=answers.term_status(room, number, services.term_status(election_id=room, term=number)))
