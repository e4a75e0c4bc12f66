"""The verbs of a room as pure steps: decode, one call, encode; no request objects.

The order of checks is the contract's: path, body, permission, rules.
"""

from __future__ import annotations

from collections.abc import Callable
from functools import wraps
from typing import ParamSpec

from elections import answers, rules, services, shapes
from octostore.api.bodies import fill
from octostore.api.door import Body, Caller, Reply
from octostore.api.metrics import outcomes
from octostore.leases.outcomes import Granted
from octostore.lib import ids
from octostore.lib.errors import DomainError

Parameters = ParamSpec("Parameters")

REPLAYED = {"Idempotent-Replayed": "true"}


def count_refusals(verb: Callable[Parameters, Reply]) -> Callable[Parameters, Reply]:
    """Count what a verb raises by its code; what it answers, it counts itself."""

    @wraps(verb)
    def counted(*args: Parameters.args, **kwargs: Parameters.kwargs) -> Reply:
        try:
            return verb(*args, **kwargs)
        except DomainError as error:
            count(error.code)
            raise

    return counted


def count(outcome: str) -> None:
    outcomes.labels(services.SPACE, outcome).inc()


def create(body: Body, caller: Caller) -> Reply:
    body()
    services.require_open()
    services.open_room(client=caller.client)
    return Reply(shape=answers.room(ids.mint_election_id()), status=201)


@count_refusals
def campaign(election_id: str, body: Body, caller: Caller, *, attempt: str | None) -> Reply:
    room = rules.election_id(election_id)
    asked = fill(shapes.CampaignInput, body())
    services.require_open()
    outcome = services.campaign(
        election_id=room,
        candidate_id=rules.candidate_id(asked.candidate_id),
        ttl=rules.ttl(asked.ttl_seconds) or rules.default_ttl(),
        metadata=rules.metadata(asked.metadata),
        attempt=rules.attempt(attempt),
        client=caller.client,
        charged_to=caller.charged_to,
        received_at=caller.received_at,
    )
    if isinstance(outcome, Granted):
        count("replayed" if outcome.replayed else "won")
        return Reply(shape=answers.granted(room, outcome), headers=REPLAYED if outcome.replayed else {})
    count("lost")
    return Reply(shape=answers.follower(room, outcome))


def status(election_id: str) -> Reply:
    room = rules.election_id(election_id)
    services.require_open()
    return Reply(shape=answers.state(room, services.status(election_id=room)))


@count_refusals
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
    count("renewed")
    return Reply(shape=answers.granted(room, outcome))


@count_refusals
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
    count("resigned")
    return Reply(shape=answers.resigned(room, ended))


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
