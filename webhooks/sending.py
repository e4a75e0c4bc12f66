"""One attempt after another: claim what is due, call, write down what came of it.

SQL holds the queue. A claim lasts a little longer than a call may take: whoever claimed and was
killed loses the delivery to the next claim, and nothing else knows that it was under way.
"""

from __future__ import annotations

import random
from collections import Counter
from dataclasses import dataclass, field
from datetime import datetime, timedelta

from django.conf import settings
from django.db import connection
from django.db.models import Count, Q
from django.utils import timezone

from octostore.lib import outbound
from octostore.lib.outbound import Answer, Failure
from octostore.teams.writing import changing, reading
from webhooks import endpoints, schedule, sealing, signing
from webhooks.models import Attempt, Delivery, Endpoint

CLAIM = timedelta(seconds=outbound.SECONDS + 10)


@dataclass(frozen=True, slots=True, kw_only=True)
class Claim:
    """One attempt that this process may make, and nobody else until the claim is over."""

    delivery_id: int
    endpoint_id: int
    team_id: int
    number: int
    url: str = field(repr=False)
    headers: dict[str, str] = field(repr=False)
    body: bytes = field(repr=False)


def due() -> list[int]:
    """The endpoints whose deliveries wait for an attempt, each as often as it may have one more in flight."""
    now = timezone.now()
    is_claimed = Q(claimed_until__gt=now)
    pending = Delivery.objects.filter(state=Delivery.State.PENDING, endpoint__off="", endpoint__deleted_at=None)
    found = reading(
        lambda: list(
            pending.filter(Q(due_at__lte=now) | is_claimed)
            .values("endpoint_id", "endpoint__team_id", "endpoint__failing_since", "endpoint__last_success_at")
            .annotate(claimed=Count("id", filter=is_claimed), waiting=Count("id", filter=~is_claimed))
            .order_by("endpoint_id")
        )
    )
    in_flight = Counter[int]()
    for row in found:
        in_flight[row["endpoint__team_id"]] += row["claimed"]
    free = []
    for row in found:
        at_most = _at_most(row["endpoint__failing_since"], row["endpoint__last_success_at"])
        left_to_team = settings.WEBHOOK_IN_FLIGHT_TEAM - in_flight[row["endpoint__team_id"]]
        count = max(0, min(row["waiting"], at_most - row["claimed"], left_to_team))
        in_flight[row["endpoint__team_id"]] += count
        free += [row["endpoint_id"]] * count
    return free


def attempt_next(endpoint_id: int) -> bool:
    """Make the attempt of this endpoint that is due, if there is one and it may be made; whether it was."""
    try:
        claim = _claim(endpoint_id)
        if claim is None:
            return False
        # Many threads wait for customers; none keeps a connection of the database meanwhile.
        connection.close()
        outcome = outbound.post(claim.url, body=claim.body, headers=claim.headers, policy=endpoints.policy())
        _record(claim, outcome)
        return True
    finally:
        connection.close()


def _claim(endpoint_id: int) -> Claim | None:
    found = Endpoint.objects.select_related("team").filter(pk=endpoint_id)
    with changing():
        endpoint = found.first()
        if endpoint is None:
            return None
        endpoints.hold(endpoint.team_id)
        # As it stands now that nobody else can change it.
        endpoint, now = found.first(), timezone.now()
        if endpoint is None or not endpoint.is_active or not _may_have_one_more(endpoint, now):
            return None
        waiting = Delivery.objects.filter(endpoint=endpoint, state=Delivery.State.PENDING, due_at__lte=now)
        unclaimed = Q(claimed_until=None) | Q(claimed_until__lte=now)
        delivery = waiting.filter(unclaimed).order_by("due_at", "id").first()
        if delivery is None:
            return None
        is_extra = delivery.trigger in Delivery.EXTRA
        if delivery.round_made >= schedule.ATTEMPTS and not is_extra:
            # The process that made the last attempt was killed.
            _end(delivery, Delivery.State.FAILED, now)
            return None
        body = delivery.body.encode("utf-8")
        secrets = sealing.signing_secrets(endpoint, now)
        Attempt.objects.create(
            delivery=delivery, number=delivery.attempts_made + 1, trigger=delivery.trigger, began_at=now
        )
        delivery.attempts_made += 1
        delivery.round_made += not is_extra
        delivery.trigger = Delivery.Trigger.AUTOMATIC
        delivery.claimed_until = now + CLAIM
        delivery.save(update_fields=["attempts_made", "round_made", "trigger", "claimed_until"])
    return Claim(
        delivery_id=delivery.pk,
        endpoint_id=endpoint.pk,
        team_id=endpoint.team_id,
        number=delivery.attempts_made,
        url=endpoint.url,
        headers={
            "Content-Type": "application/json",
            **signing.signed_headers(secrets, message_id=delivery.message_id, at=now, body=body),
        },
        body=body,
    )


def _record(claim: Claim, outcome: Answer | Failure) -> None:
    now = timezone.now()
    taken = isinstance(outcome, Answer) and 200 <= outcome.status < 300
    with changing():
        endpoints.hold(claim.team_id)
        Attempt.objects.filter(delivery_id=claim.delivery_id, number=claim.number).update(
            took_ms=outcome.took // timedelta(milliseconds=1),
            status=outcome.status,
            failure="" if taken else outcome.reason if isinstance(outcome, Failure) else "status",
            answer=outcome.text if isinstance(outcome, Answer) else "",
        )
        endpoint = Endpoint.objects.select_related("team").filter(pk=claim.endpoint_id).first()
        delivery = Delivery.objects.filter(pk=claim.delivery_id).first()
        if endpoint is None or delivery is None:
            return
        # The URL may be another by now, of which this attempt says nothing.
        is_same = endpoint.url == claim.url
        if is_same:
            _mark(endpoint, taken, now)
        # What was claimed again meanwhile is judged by the later attempt, unless this one settles it.
        if delivery.state == Delivery.State.DELIVERED or (delivery.attempts_made != claim.number and not taken):
            return
        _go_on(endpoint, delivery, outcome, now, may_disable=is_same)


def _go_on(
    endpoint: Endpoint, delivery: Delivery, outcome: Answer | Failure, now: datetime, *, may_disable: bool
) -> None:
    step = schedule.after_attempt(
        max(delivery.round_made, 1),
        status=outcome.status,
        retry_after=outcome.retry_after if isinstance(outcome, Answer) else None,
        now=now,
        random=random.random,
    )
    match step:
        case schedule.Done():
            _end(delivery, Delivery.State.DELIVERED, now)
        case schedule.Next(at) if delivery.state == Delivery.State.PENDING:
            delivery.due_at, delivery.claimed_until = at, None
            delivery.save(update_fields=["due_at", "claimed_until"])
        case schedule.GiveUp() if delivery.state == Delivery.State.PENDING:
            _end(delivery, Delivery.State.FAILED, now)
        case schedule.Disable() if endpoint.is_active and may_disable:
            _end(delivery, Delivery.State.FAILED, now)
            endpoints.switch_off(endpoint, Endpoint.Off.GONE)
        case _:
            # Cancelled meanwhile, or due at another URL: it is in flight no more.
            delivery.claimed_until = None
            delivery.save(update_fields=["claimed_until"])
    if endpoint.is_active and schedule.is_off_due(endpoint.failing_since, now):
        endpoints.switch_off(endpoint, Endpoint.Off.FAILING)


def _mark(endpoint: Endpoint, taken: bool, now: datetime) -> None:
    if taken:
        endpoint.failing_since, endpoint.last_success_at = None, now
    elif endpoint.failing_since is None:
        endpoint.failing_since = now
    endpoint.save(update_fields=["failing_since", "last_success_at"])


def _end(delivery: Delivery, state: Delivery.State, now: datetime) -> None:
    delivery.state, delivery.ended_at, delivery.claimed_until = state, now, None
    delivery.save(update_fields=["state", "ended_at", "claimed_until"])


def _may_have_one_more(endpoint: Endpoint, now: datetime) -> bool:
    """Whether neither the endpoint nor its team has as many attempts in flight as it may."""
    claimed = Delivery.objects.filter(endpoint__team_id=endpoint.team_id, claimed_until__gt=now)
    counts = claimed.aggregate(team=Count("id"), own=Count("id", filter=Q(endpoint=endpoint)))
    at_most = _at_most(endpoint.failing_since, endpoint.last_success_at)
    return bool(counts["own"] < at_most and counts["team"] < settings.WEBHOOK_IN_FLIGHT_TEAM)


def _at_most(failing_since: datetime | None, last_success_at: datetime | None) -> int:
    """Who does not answer waits alone: one at a time for an endpoint that fails or has yet to succeed."""
    is_proved = failing_since is None and last_success_at is not None
    return settings.WEBHOOK_IN_FLIGHT_ENDPOINT if is_proved else 1
