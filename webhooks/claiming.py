"""Which attempts this process makes, and nobody else meanwhile. SQL holds the queue.

A claim lasts a little longer than a call may take: whoever claimed and was killed loses the delivery
to the next claim, and nothing else knows that it was under way.
"""

from __future__ import annotations

import random
import threading
from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass, field
from datetime import datetime, timedelta

from django.conf import settings
from django.db.models import Exists, F, IntegerField, OuterRef, Q, QuerySet, Subquery
from django.utils import timezone

from octostore.lib import outbound
from octostore.teams.writing import changing, reading
from webhooks import schedule, sealing
from webhooks.in_flight import InFlight
from webhooks.models import Attempt, Delivery, Endpoint

CLAIM = timedelta(seconds=outbound.SECONDS + 10)

# What is in flight is counted and then added to: one at a time in each process.
_counting = threading.Lock()


@dataclass(frozen=True, slots=True, kw_only=True)
class Claim:
    """One attempt that this process may make, and nobody else until the claim is over."""

    delivery_id: int
    attempt_id: int
    # How many attempts of the delivery there are with this one.
    number: int
    until: datetime
    # The endpoint as it was then.
    endpoint: Endpoint
    message_id: str
    body: str = field(repr=False)


class _Count(Subquery):
    """How many rows there are, where counting ends with the query's limit: a long queue is not counted through."""

    template = "(SELECT COUNT(*) FROM (%(subquery)s) AS counted)"
    output_field = IntegerField()


def claim_due(*, at_most: int, endpoint_id: int | None = None) -> list[Claim]:
    """Claim what is due and may be in flight, at most so many; of all endpoints or of one."""
    with _counting:
        now = timezone.now()
        asked = Endpoint.objects.all() if endpoint_id is None else Endpoint.objects.filter(pk=endpoint_id)
        places = Counter(endpoint.pk for endpoint in free_places(now, asked)[:at_most])
        first = [number for endpoint, count in places.items() for number in _first(now, endpoint, count)]
        return _claim(waiting(now).filter(pk__in=first), now) if first else []


def waiting(now: datetime) -> QuerySet[Delivery]:
    """What is due and nobody's."""
    return _unclaimed(now).filter(due_at__lte=now)


def _unclaimed(now: datetime) -> QuerySet[Delivery]:
    is_free = Q(claimed_until=None) | Q(claimed_until__lte=now)
    return Delivery.objects.filter(is_free, state=Delivery.State.PENDING)


def free_places(now: datetime, asked: QuerySet[Endpoint]) -> list[Endpoint]:
    """Those of the endpoints for which something waits, each as often as it may have one more in flight."""
    own = waiting(now).filter(endpoint=OuterRef("pk")).values("pk")
    some = _Count(own[: settings.WEBHOOK_IN_FLIGHT_ENDPOINT])
    active = asked.filter(Exists(own), off="", deleted_at=None).annotate(waiting=some)
    found = [endpoint for endpoint in reading(lambda: list(active)) if sealing.can_sign(endpoint)]
    # In any order, so that where not all can be served none is always the last.
    random.shuffle(found)
    in_flight = InFlight(now)
    free: list[Endpoint] = []
    for endpoint in found:
        for _ in range(endpoint.waiting):
            if not in_flight.take(endpoint):
                break
            free.append(endpoint)
    return free


def _first(now: datetime, endpoint_id: int, count: int) -> list[int]:
    """What comes next: before all that waits, however much it is, what somebody asked for by hand."""
    # Which is always due; with the instant in the question SQLite would read the whole queue for it.
    asked = _unclaimed(now).filter(endpoint=endpoint_id, trigger__in=Delivery.EXTRA).values_list("pk", flat=True)
    extra = reading(lambda: list(asked[:count]))
    others = waiting(now).filter(endpoint=endpoint_id).exclude(pk__in=extra).order_by("due_at", "id")
    return extra + reading(lambda: list(others.values_list("pk", flat=True)[: count - len(extra)]))


def _claim(wanted: QuerySet[Delivery], now: datetime) -> list[Claim]:
    """Claim those of them that nobody cancels, repeats or claims at this instant."""
    until = now + CLAIM
    with changing(in_background=True):
        there = wanted.filter(endpoint__off="", endpoint__deleted_at=None).select_related("endpoint")
        ours = list(there.select_for_update(skip_locked=True, no_key=True, of=("self",)).order_by("due_at", "id"))
        spent = [one for one in ours if one.round_made >= schedule.ATTEMPTS and one.trigger not in Delivery.EXTRA]
        # The process that made the last attempt was killed.
        _all(spent).update(state=Delivery.State.FAILED, ended_at=now, claimed_until=None)
        begun = [one for one in ours if one not in spent]
        for is_extra in (False, True):
            _all([one for one in begun if (one.trigger in Delivery.EXTRA) == is_extra]).update(
                attempts_made=F("attempts_made") + 1,
                round_made=F("round_made") + int(not is_extra),
                trigger=Delivery.Trigger.AUTOMATIC,
                claimed_until=until,
            )
        attempts = Attempt.objects.bulk_create(
            Attempt(delivery=one, number=one.attempts_made + 1, trigger=one.trigger, began_at=now) for one in begun
        )
    return [
        Claim(
            delivery_id=one.pk,
            attempt_id=attempt.pk,
            number=attempt.number,
            until=until,
            endpoint=one.endpoint,
            message_id=one.message_id,
            body=one.body,
        )
        for one, attempt in zip(begun, attempts, strict=True)
    ]


def _all(deliveries: Sequence[Delivery]) -> QuerySet[Delivery]:
    return Delivery.objects.filter(pk__in=[one.pk for one in deliveries])
