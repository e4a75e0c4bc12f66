"""The verbs of a room as pure steps: decode, one call, encode; no request objects.

The order of checks is the contract's: path, body, permission, rules.
"""

from __future__ import annotations

from elections import rules, services, shapes
from octostore.api.bodies import fill
from octostore.api.door import Body, Caller, Reply
from octostore.leases.outcomes import Granted
from octostore.lib import ids

REPLAYED = {"Idempotent-Replayed": "true"}


def create(body: Body, caller: Caller) -> Reply:
    body()
    services.require_open()
    services.open_room(client=caller.client)
    return Reply(shape=shapes.room(ids.mint_election_id()), status=201)


def campaign(election_id: str, body: Body, caller: Caller, *, attempt: str | None) -> Reply:
    room = rules.election_id(election_id)
    asked = fill(shapes.CampaignInput, body())
    services.require_open()
    outcome = services.campaign(
        election_id=room,
        candidate_id=rules.candidate_id(asked.candidate_id),
        ttl=rules.ttl(asked.ttl_seconds) if asked.ttl_seconds is not None else rules.default_ttl(),
        metadata=rules.metadata(asked.metadata),
        attempt=rules.attempt(attempt),
        client=caller.client,
        charged_to=caller.charged_to,
        received_at=caller.received_at,
    )
    if isinstance(outcome, Granted):
        return Reply(shape=shapes.granted(room, outcome), headers=REPLAYED if outcome.replayed else {})
    return Reply(shape=shapes.follower(room, outcome))


def status(election_id: str) -> Reply:
    room = rules.election_id(election_id)
    services.require_open()
    return Reply(shape=shapes.state(room, services.status(election_id=room)))


def renew(election_id: str, body: Body, caller: Caller) -> Reply:
    room = rules.election_id(election_id)
    asked = fill(shapes.RenewInput, body())
    services.require_open()
    outcome = services.renew(
        election_id=room,
        capability=rules.capability(asked.leader_token),
        ttl=rules.ttl(asked.ttl_seconds) if asked.ttl_seconds is not None else None,
        client=caller.client,
    )
    return Reply(shape=shapes.granted(room, outcome))


def resign(election_id: str, body: Body, caller: Caller) -> Reply:
    room = rules.election_id(election_id)
    asked = fill(shapes.ResignInput, body())
    services.require_open()
    ended = services.resign(election_id=room, capability=rules.capability(asked.leader_token), client=caller.client)
    return Reply(shape=shapes.ResignedOutput(election_id=room, previous_term=ended.term))


def terms(election_id: str, *, limit: str | None) -> Reply:
    room = rules.election_id(election_id)
    services.require_open()
    past = services.terms(election_id=room, limit=rules.limit(limit))
    return Reply(shape=shapes.TermsOutput(election_id=room, terms=[shapes.term(one) for one in past]))


def term_status(election_id: str, term: str) -> Reply:
    room = rules.election_id(election_id)
    number = rules.term(term)
    services.require_open()
    return Reply(shape=shapes.term_status(room, number, services.term_status(election_id=room, term=number)))
