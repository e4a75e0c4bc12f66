"""What was sent and what is still owed: shown, sent again, tried out, and forgotten in time."""

from __future__ import annotations

import secrets
import time
from datetime import datetime, timedelta

from django.conf import settings
from django.db.models import Q
from django.utils import timezone

from octostore.lib.errors import Conflict, NotFound
from octostore.teams.writing import changing, reading
from webhooks import endpoints, messages, schedule
from webhooks.endpoints import Manager
from webhooks.messages import Message
from webhooks.models import Delivery, Endpoint

TEST_LOCK = "example/lock"
# Sized for transactions well under 200 ms.
BATCH = 200


def walk(*, by: Manager, public_id: str, before: int | None, limit: int, state: str | None = None) -> list[Delivery]:
    """The endpoint's deliveries with their attempts, newest first, from before that row on. Raises NotFound."""
    found = endpoints.find(by=by, public_id=public_id).deliveries.order_by("-id").prefetch_related("attempts")
    if before is not None:
        found = found.filter(id__lt=before)
    if state is not None:
        found = found.filter(state=state)
    return reading(lambda: list(found[:limit]))


def find(*, by: Manager, public_id: str, delivery_id: str) -> Delivery:
    """Raises NotFound."""
    endpoint = endpoints.find(by=by, public_id=public_id)
    known = endpoints.as_uuid(delivery_id)
    delivery = reading(lambda: endpoint.deliveries.prefetch_related("attempts").filter(uuid=known).first())
    if delivery is None:
        raise NotFound
    return delivery


def redeliver(*, by: Manager, public_id: str, delivery_id: str) -> Delivery:
    """Send it now, whatever came of it before, under the same message id: once, beside what the schedule still holds.

    Raises Conflict while the endpoint is off or an attempt is under way.
    """
    now = timezone.now()
    with changing():
        endpoint = _active(by, public_id)
        delivery = find(by=by, public_id=public_id, delivery_id=delivery_id)
        # As it stands now that no attempt of it begins or ends.
        delivery = Delivery.objects.select_for_update(no_key=True).prefetch_related("attempts").get(pk=delivery.pk)
        if delivery.claimed_until and delivery.claimed_until > now:
            raise Conflict("An attempt of this delivery is under way")
        if delivery.state != Delivery.State.PENDING:
            delivery.round_made = schedule.ATTEMPTS
        _due(delivery, Delivery.Trigger.MANUAL, now)
        by.act.record(by.team_id, "delivery_repeated", f"delivery:{delivery.uuid}", after={"webhook": _id(endpoint)})
    return delivery


def recover(*, by: Manager, public_id: str, since: datetime) -> int:
    """Send again, with the whole schedule, what was created from `since` on and never arrived; how many.

    Raises Conflict while the endpoint is off.
    """
    now = timezone.now()
    lost = Q(state__in=(Delivery.State.FAILED, Delivery.State.CANCELLED)) & ~Q(kind=messages.TEST)
    with changing():
        endpoint = _active(by, public_id)
        count = endpoint.deliveries.filter(lost, created_at__gte=since).update(
            state=Delivery.State.PENDING,
            ended_at=None,
            round_made=0,
            due_at=now,
            trigger=Delivery.Trigger.RECOVERY,
        )
        after = {"since": since.isoformat(), "count": count}
        by.act.record(by.team_id, "webhook_recovered", f"webhook:{_id(endpoint)}", after=after)
    return count


def test(*, by: Manager, public_id: str) -> Delivery:
    """Send one call that says that it is a test. Raises Conflict while the endpoint is off."""
    now = timezone.now()
    message = Message.test(nonce=secrets.token_hex(16), lock=TEST_LOCK, at=int(now.timestamp() * 1000))
    with changing():
        delivery = Delivery(
            endpoint=_active(by, public_id),
            message_id=message.id,
            kind=message.kind,
            lock=message.lock,
            body=message.body,
            round_made=schedule.ATTEMPTS,
        )
        _due(delivery, Delivery.Trigger.TEST, now)
    return delivery


def forget_old(*, seconds: float = 30.0) -> int:
    """Forget deliveries as old as none is kept, and all of deleted endpoints; how many went."""
    old = Q(created_at__lt=timezone.now() - timedelta(seconds=settings.WEBHOOK_DELIVERIES_KEPT_SECONDS))
    over = Delivery.objects.filter(old & ~Q(state=Delivery.State.PENDING) | Q(endpoint__deleted_at__isnull=False))
    began_at, total = time.monotonic(), 0
    while time.monotonic() - began_at < seconds:
        batch = reading(lambda: list(over.order_by("id").values_list("pk", flat=True)[:BATCH]))
        with changing():
            Delivery.objects.filter(pk__in=batch).delete()
        total += len(batch)
        if len(batch) < BATCH:
            break
    with changing():
        Endpoint.objects.filter(deleted_at__isnull=False, deliveries=None).delete()
    return total


def _active(by: Manager, public_id: str) -> Endpoint:
    endpoint = endpoints.held(by=by, public_id=public_id)
    if not endpoint.is_active:
        raise Conflict("The webhook is switched off")
    return endpoint


def _due(delivery: Delivery, trigger: Delivery.Trigger, now: datetime) -> None:
    delivery.state, delivery.ended_at, delivery.trigger = Delivery.State.PENDING, None, trigger
    delivery.due_at, delivery.claimed_until = now, None
    delivery.save()


def _id(endpoint: Endpoint) -> str:
    return str(endpoint.uuid)
