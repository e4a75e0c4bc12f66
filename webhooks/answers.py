"""What services returned, as the JSON shapes of the contract."""

from __future__ import annotations

from datetime import datetime
from typing import cast

from django.utils import timezone

from octostore.api import timing
from webhooks import messages
from webhooks.models import Attempt, Delivery, Endpoint
from webhooks.shapes import AttemptOutput, DeliveriesOutput, DeliveryOutput, Off, State, Trigger, WebhookOutput

HIDDEN = "****"


def webhook(endpoint: Endpoint, team_uuid: str, *, secret: str = HIDDEN) -> WebhookOutput:
    """An endpoint; `secret` where this answer is the one that shows it."""
    overlaps = endpoint.previous_until is not None and endpoint.previous_until > timezone.now()
    return WebhookOutput(
        id=str(endpoint.uuid),
        user_id=team_uuid,
        url=endpoint.url,
        secret=secret,
        events=endpoint.events.split(),
        lock_pattern=endpoint.lock_pattern,
        created_at=_instant(endpoint.created_at),
        active=endpoint.is_active,
        inactive_reason=cast(Off | None, endpoint.off or None),
        failing_since=_instant_or_none(endpoint.failing_since),
        last_success_at=_instant_or_none(endpoint.last_success_at),
        old_secret_until=_instant_or_none(endpoint.previous_until) if overlaps else None,
    )


def deliveries(page: list[Delivery], *, next_cursor: str | None) -> DeliveriesOutput:
    return DeliveriesOutput(deliveries=[delivery(one) for one in page], next_cursor=next_cursor)


def delivery(one: Delivery) -> DeliveryOutput:
    attempts = sorted(one.attempts.all(), key=lambda attempt: attempt.number)
    is_pending = one.state == Delivery.State.PENDING
    under_way = one.claimed_until is not None and one.claimed_until > timezone.now()
    return DeliveryOutput(
        id=str(one.uuid),
        message_id=one.message_id,
        type=messages.type_of(one.kind),
        lock=one.lock,
        created_at=_instant(one.created_at),
        state=cast(State, one.state),
        next_attempt_at=_instant(one.due_at) if is_pending and not under_way else None,
        attempts=[
            _attempt(attempt, under_way=under_way and attempt.number == one.attempts_made) for attempt in attempts
        ],
    )


def _attempt(attempt: Attempt, *, under_way: bool) -> AttemptOutput:
    return AttemptOutput(
        number=attempt.number,
        trigger=cast(Trigger, attempt.trigger),
        at=_instant(attempt.began_at),
        duration_ms=attempt.took_ms,
        status=attempt.status,
        error=failure_of(attempt, under_way=under_way),
        response=attempt.answer or None,
    )


def failure_of(attempt: Attempt, *, under_way: bool) -> str | None:
    """In a word why it failed; None for a success and for what is under way."""
    if attempt.took_ms is None:
        return None if under_way else "interrupted"
    return attempt.failure or None


def _instant(at: datetime) -> str:
    return timing.instant(int(at.timestamp() * 1000))


def _instant_or_none(at: datetime | None) -> str | None:
    return None if at is None else _instant(at)
