"""The verbs of a lock as pure steps: decode, one call, encode; no request objects.

The order of checks is the contract's: path, body, authentication, permission, rules.
"""

from __future__ import annotations

import time
from datetime import timedelta
from functools import partial

from locks import answers, names, rules, services, shapes, waiting, watch
from octostore.api import cursors, paging
from octostore.api.authentication import require
from octostore.api.bodies import fill
from octostore.api.counting import counted_as
from octostore.api.door import Body, Caller, Reply
from octostore.leases.outcomes import Delayed, Granted
from octostore.lib.errors import InvalidInput
from octostore.live.tickets import WaitTicket, WatchTicket
from octostore.teams.principals import Principal, Scope

REPLAYED = {"Idempotent-Replayed": "true"}


def enter(name: str, caller: Caller, scope: Scope) -> Principal:
    """The principal that may do this to that lock."""
    principal = require(caller, scope)
    services.within(principal, name)
    return principal


@counted_as("locks")
def acquire(path: str, body: Body, caller: Caller, *, attempt: str | None) -> Reply | WaitTicket:
    name = names.lock_name(path)
    asked = fill(shapes.AcquireInput, body())
    principal = enter(name, caller, "locks")
    if asked.ephemeral and asked.session_id is None:
        raise InvalidInput("ephemeral needs a session_id")
    waited = timedelta(seconds=time.monotonic() - caller.received_at) if caller.turn else timedelta(0)
    outcome = waiting.acquire(
        principal=principal,
        name=name,
        ttl=rules.ttl(asked.ttl_seconds) or rules.default_ttl(),
        metadata=rules.metadata(asked.metadata),
        holder=rules.holder(asked.holder),
        session_id=None if asked.session_id is None else rules.session_id(asked.session_id),
        ephemeral=bool(asked.ephemeral),
        delay=rules.delay("lock_delay_seconds", asked.lock_delay_seconds),
        acl=rules.acl(asked.acl.acquire if asked.acl else None),
        attempt=rules.attempt(attempt),
        received_at=caller.received_at,
        wait=rules.wait(asked.wait_seconds),
        turn=caller.turn,
    )
    if isinstance(outcome, WaitTicket):
        return outcome
    if isinstance(outcome, Delayed):
        raise answers.delayed(outcome)
    if not isinstance(outcome, Granted):
        return Reply(shape=answers.held(principal.lock_space, name, outcome), outcome="held")
    undo = None
    if caller.turn and attempt is None and asked.session_id is None:
        # What an attempt or a session won, the caller may have been told already when it asked again.
        undo = partial(services.give_back, principal=principal, name=name, lease_id=outcome.capability)
    return Reply(
        shape=answers.acquired(outcome, waited=waited),
        headers=REPLAYED if outcome.replayed else {},
        undo=undo,
        outcome="replayed" if outcome.replayed else "acquired",
    )


@counted_as("locks")
def renew(path: str, body: Body, caller: Caller) -> Reply:
    name = names.lock_name(path)
    asked = fill(shapes.RenewLockInput, body())
    principal = enter(name, caller, "locks")
    ttl = rules.ttl(asked.ttl_seconds)
    outcome = services.renew(principal=principal, name=name, lease_id=rules.lease_id(asked.lease_id), ttl=ttl)
    return Reply(shape=answers.renewed(outcome), outcome="renewed")


@counted_as("locks")
def release(path: str, body: Body, caller: Caller) -> Reply:
    name = names.lock_name(path)
    asked = fill(shapes.ReleaseInput, body())
    principal = enter(name, caller, "locks")
    lease_id = rules.lease_id(asked.lease_id)
    services.release(principal=principal, name=name, lease_id=lease_id, delayed=bool(asked.delay))
    return Reply(shape=None, outcome="released")


@counted_as("locks")
def revoke(path: str, body: Body, caller: Caller) -> Reply:
    name = names.lock_name(path)
    asked = fill(shapes.RevokeInput, body())
    principal = enter(name, caller, "admin")
    services.revoke(
        principal=principal,
        name=name,
        term=rules.fencing_token(asked.fencing_token),
        reason=rules.reason(asked.reason),
        delay=rules.delay("delay_seconds", asked.delay_seconds),
        request_id=caller.request_id,
    )
    return Reply(shape=_present(principal, name), outcome="revoked")


def status(path: str, caller: Caller) -> Reply:
    name = names.lock_name(path)
    principal = enter(name, caller, "read")
    return Reply(shape=_present(principal, name))


def walk(caller: Caller, *, prefix: str | None, cursor: str | None, limit: str | None) -> Reply:
    principal = require(caller, "read")
    beginning = names.lock_prefix(prefix)
    size = paging.limit(limit)
    list_of = f"locks {principal.team_uuid} {beginning}"
    after = cursors.unseal(list_of, cursor) or ""
    page, total = services.walk(principal=principal, prefix=beginning, after=after, limit=size + 1)
    shown, next_cursor = cursors.cut(list_of, page, size, lambda lock: lock[0])
    shape = answers.locks(principal.lock_space, shown, total=total, prefix=prefix, next_cursor=next_cursor)
    return Reply(shape=shape)


def history(path: str, caller: Caller, *, limit: str | None) -> Reply:
    name = names.lock_name(path)
    principal = enter(name, caller, "read")
    past = services.terms(principal=principal, name=name, limit=rules.history_limit(limit))
    return Reply(shape=answers.terms(principal.lock_space, name, past))


def put_acl(path: str, body: Body, caller: Caller, *, lease_id: str | None) -> Reply:
    name = names.lock_name(path)
    asked = fill(shapes.AclInput, body())
    principal = enter(name, caller, "locks")
    entries = rules.acl(asked.acl.acquire) or ()
    holder = None if lease_id is None else rules.lease_id(lease_id, field="X-Lease-Id")
    services.set_acl(principal=principal, name=name, acl=entries, lease_id=holder)
    return Reply(shape=answers.acl(name, entries))


def delete_acl(path: str, caller: Caller, *, lease_id: str | None) -> Reply:
    name = names.lock_name(path)
    principal = enter(name, caller, "locks")
    holder = None if lease_id is None else rules.lease_id(lease_id, field="X-Lease-Id")
    services.set_acl(principal=principal, name=name, acl=None, lease_id=holder)
    return Reply(shape=None, status=204)


def open_watch(path: str, caller: Caller, *, last_event_id: str | None) -> WatchTicket:
    name = names.lock_name(path)
    principal = enter(name, caller, "read")
    return watch.open_stream(principal=principal, name=name, last_event_id=last_event_id)


def _present(principal: Principal, name: str) -> shapes.LockOutput:
    described = services.status(principal=principal, name=name)
    return answers.lock(principal.lock_space, name, described.state, described.acl)
