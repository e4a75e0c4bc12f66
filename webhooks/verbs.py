"""The verbs of webhooks as pure steps: decode, one call, encode; no request objects.

All need the scope `webhooks`. The order of checks is the contract's: path, body, authentication,
permission, rules.
"""

from __future__ import annotations

from octostore.api import cursors, paging
from octostore.api.authentication import require
from octostore.api.bodies import fill
from octostore.api.counting import counted_as
from octostore.api.door import Body, Caller, Reply
from webhooks import answers, deliveries, endpoints, messages, rules, sealing, shapes
from webhooks.endpoints import Manager
from webhooks.shapes import RecoveredOutput


def enter(caller: Caller) -> Manager:
    """Whoever may look after the team's webhooks."""
    return Manager.of(require(caller, "webhooks"), request_id=caller.request_id)


@counted_as("webhooks")
def create(body: Body, caller: Caller) -> Reply:
    asked = fill(shapes.WebhookInput, body())
    by = enter(caller)
    endpoint = endpoints.create(
        by=by,
        url=asked.url,
        events=rules.events(asked.events) or messages.USUAL,
        lock_pattern=rules.lock_pattern(asked.lock_pattern),
        secret=rules.secret(asked.secret),
    )
    shape = answers.webhook(endpoint, by.team_uuid, secret=sealing.secret_of(endpoint))
    return Reply(shape=shape, status=201, outcome="created")


def walk(caller: Caller) -> Reply:
    by = enter(caller)
    return Reply(shape=[answers.webhook(endpoint, by.team_uuid) for endpoint in endpoints.walk(by=by)])


def show(public_id: str, caller: Caller) -> Reply:
    by = enter(caller)
    return Reply(shape=answers.webhook(endpoints.find(by=by, public_id=public_id), by.team_uuid))


@counted_as("webhooks")
def change(public_id: str, body: Body, caller: Caller) -> Reply:
    asked = fill(shapes.WebhookChange, body())
    by = enter(caller)
    endpoint = endpoints.change(
        by=by,
        public_id=public_id,
        url=asked.url,
        events=rules.events(asked.events),
        lock_pattern=rules.lock_pattern(asked.lock_pattern),
        active=asked.active,
    )
    return Reply(shape=answers.webhook(endpoint, by.team_uuid), outcome="changed")


@counted_as("webhooks")
def delete(public_id: str, caller: Caller) -> Reply:
    endpoints.delete(by=enter(caller), public_id=public_id)
    return Reply(shape=None, status=204, outcome="deleted")


@counted_as("webhooks")
def rotate(public_id: str, body: Body, caller: Caller) -> Reply:
    asked = fill(shapes.RotateSecretInput, body())
    by = enter(caller)
    endpoint, secret = endpoints.rotate(
        by=by, public_id=public_id, secret=rules.secret(asked.secret), now=bool(asked.now)
    )
    return Reply(shape=answers.webhook(endpoint, by.team_uuid, secret=secret), outcome="rotated")


@counted_as("webhooks")
def test(public_id: str, body: Body, caller: Caller) -> Reply:
    body()
    delivery = deliveries.test(by=enter(caller), public_id=public_id)
    return Reply(shape=answers.delivery(delivery), status=202, outcome="tested")


@counted_as("webhooks")
def recover(public_id: str, body: Body, caller: Caller) -> Reply:
    asked = fill(shapes.RecoverInput, body())
    by = enter(caller)
    count = deliveries.recover(by=by, public_id=public_id, since=rules.since(asked.since))
    return Reply(shape=RecoveredOutput(recovered=count), status=202, outcome="recovered")


def walk_deliveries(
    public_id: str, caller: Caller, *, cursor: str | None, limit: str | None, state: str | None
) -> Reply:
    by = enter(caller)
    size = paging.limit(limit)
    list_of = f"deliveries {public_id}"
    before = cursors.unseal(list_of, cursor)
    page = deliveries.walk(
        by=by,
        public_id=public_id,
        before=None if before is None else int(before),
        limit=size + 1,
        state=rules.state(state),
    )
    shown, next_cursor = cursors.cut(list_of, page, size, lambda delivery: delivery.pk)
    return Reply(shape=answers.deliveries(shown, next_cursor=next_cursor))


def show_delivery(public_id: str, delivery_id: str, caller: Caller) -> Reply:
    return Reply(
        shape=answers.delivery(deliveries.find(by=enter(caller), public_id=public_id, delivery_id=delivery_id))
    )


@counted_as("webhooks")
def redeliver(public_id: str, delivery_id: str, body: Body, caller: Caller) -> Reply:
    body()
    delivery = deliveries.redeliver(by=enter(caller), public_id=public_id, delivery_id=delivery_id)
    return Reply(shape=answers.delivery(delivery), status=202, outcome="repeated")
