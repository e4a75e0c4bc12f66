"""The webhooks of a team, and what was sent to them."""

from __future__ import annotations

import json
from dataclasses import dataclass
from datetime import datetime, timedelta
from typing import Any
from urllib.parse import urlsplit

from django.db.models import Count, Min, Q
from django.utils import timezone

from octostore.api import cursors
from octostore.lib.outbound import FailureReason
from octostore.teams.writing import reading
from webhooks import answers, deliveries, endpoints, messages, schedule
from webhooks.endpoints import Manager
from webhooks.models import Attempt, Delivery, Endpoint

PAGE = 50
DAY = timedelta(hours=24)
_NOTHING = {"delivered": 0, "failed": 0, "pending": 0, "next_at": None}
WHY_OFF = {
    Endpoint.Off.ASKED: "switched off by hand",
    Endpoint.Off.GONE: "switched off: it answered 410 Gone",
    Endpoint.Off.FAILING: f"switched off: no call succeeded for {schedule.FAILING_MAX.days} days",
}
_FAILURES = {reason.value: reason.text for reason in FailureReason} | {
    "status": "The receiver answered with another status than 2xx",
    "interrupted": "The process that made the call was stopped; the call is made again",
}


@dataclass(frozen=True, slots=True, kw_only=True)
class Webhook:
    """An endpoint as a line of a table; what was sent to it within the last 24 hours."""

    id: str
    # The URL without its query, which may be a secret.
    scheme: str
    host: str
    path: str
    has_query: bool
    events: list[str]
    lock_pattern: str
    # `active`, `failing` or `disabled`.
    status: str
    why_off: str
    created_by: str
    created_at: datetime
    off_at: datetime | None
    failing_since: datetime | None
    last_success_at: datetime | None
    old_secret_until: datetime | None
    delivered: int
    failed: int
    pending: int
    next_at: datetime | None

    @property
    def off_due_at(self) -> datetime | None:
        """When it is switched off unless a call succeeds."""
        return self.failing_since + schedule.FAILING_MAX if self.failing_since and self.status == "failing" else None

    @property
    def needs_attention(self) -> bool:
        """Whether calls fail, or were stopped because they did."""
        return self.status == "failing" or (self.status == "disabled" and self.why_off != WHY_OFF[Endpoint.Off.ASKED])

    @property
    def tells_all(self) -> bool:
        return self.events == [messages.EVERY]


@dataclass(frozen=True, slots=True, kw_only=True)
class Try:
    """One attempt."""

    number: int
    trigger: str
    began_at: datetime
    took: timedelta | None
    status: int | None
    # In words; empty for a success, and while it is under way.
    failure: str
    is_under_way: bool
    answer: str


@dataclass(frozen=True, slots=True, kw_only=True)
class Sent:
    """A delivery with its attempts, the latest first."""

    id: str
    message_id: str
    type: str
    lock: str
    body: str
    created_at: datetime
    # `pending`, `retrying`, `delivered`, `failed` or `cancelled`.
    status: str
    next_at: datetime | None
    tries: list[Try]

    @property
    def last(self) -> Try | None:
        return self.tries[0] if self.tries else None

    @property
    def is_settled(self) -> bool:
        return self.status not in {"pending", "retrying"}


@dataclass(frozen=True, slots=True, kw_only=True)
class Page:
    deliveries: list[Sent]
    cursor: str | None
    # From when on it is worth a look whether something changed; in milliseconds since 1970.
    look_at: int | None


def listing(by: Manager) -> list[Webhook]:
    """All of the team's, the oldest first."""
    found = endpoints.walk(by=by)
    counts = _counts(found)
    return [_webhook(endpoint, counts.get(endpoint.pk, {})) for endpoint in found]


def one(by: Manager, public_id: str) -> Webhook:
    """Raises NotFound."""
    endpoint = endpoints.find(by=by, public_id=public_id)
    return _webhook(endpoint, _counts([endpoint]).get(endpoint.pk, {}))


def page(by: Manager, public_id: str, *, state: str | None, cursor: str | None) -> Page:
    """Raises NotFound, and InvalidInput for a cursor of another list."""
    list_of = f"page of deliveries {public_id}"
    before = cursors.unseal(list_of, cursor)
    found = deliveries.walk(
        by=by, public_id=public_id, before=None if before is None else int(before), limit=PAGE + 1, state=state
    )
    shown, more = cursors.cut(list_of, found, PAGE, lambda delivery: delivery.pk)
    return Page(deliveries=[_sent(delivery) for delivery in shown], cursor=more, look_at=look_at(shown))


def delivery(by: Manager, public_id: str, delivery_id: str) -> tuple[Sent, int | None]:
    """The delivery, and from when on a second look is worth it. Raises NotFound."""
    found = deliveries.find(by=by, public_id=public_id, delivery_id=delivery_id)
    return _sent(found), look_at([found])


def look_at(found: list[Delivery]) -> int | None:
    """A second after the next attempt is due, as long as one of these is pending."""
    due = [delivery.due_at for delivery in found if delivery.state == Delivery.State.PENDING]
    return int(max(min(due), timezone.now()).timestamp() * 1000) + 1000 if due else None


def _counts(found: list[Endpoint]) -> dict[int, dict[str, Any]]:
    """For each, by its row, what became of its deliveries."""
    states = Delivery.State
    since = timezone.now() - DAY
    rows = (
        Delivery.objects.filter(Q(created_at__gte=since) | Q(state=states.PENDING), endpoint__in=found)
        .values("endpoint_id")
        .annotate(
            delivered=Count("id", filter=Q(state=states.DELIVERED)),
            failed=Count("id", filter=Q(state=states.FAILED)),
            pending=Count("id", filter=Q(state=states.PENDING)),
            next_at=Min("due_at", filter=Q(state=states.PENDING)),
        )
    )
    found_rows: list[dict[str, Any]] = reading(lambda: [dict(row) for row in rows])
    return {row.pop("endpoint_id"): row for row in found_rows}


def _webhook(endpoint: Endpoint, counts: dict[str, Any]) -> Webhook:
    parts = urlsplit(endpoint.url)
    overlap = endpoint.previous_until
    return Webhook(
        id=str(endpoint.uuid),
        scheme=parts.scheme,
        host=parts.netloc,
        path=parts.path,
        has_query=bool(parts.query),
        events=endpoint.events.split(),
        lock_pattern=endpoint.lock_pattern,
        status="disabled" if endpoint.off else "failing" if endpoint.failing_since else "active",
        why_off=WHY_OFF[Endpoint.Off(endpoint.off)] if endpoint.off else "",
        created_by=endpoint.created_by,
        created_at=endpoint.created_at,
        off_at=endpoint.off_at,
        failing_since=endpoint.failing_since,
        last_success_at=endpoint.last_success_at,
        old_secret_until=overlap if overlap and overlap > timezone.now() else None,
        **(_NOTHING | counts),
    )


def _sent(delivery: Delivery) -> Sent:
    attempts = sorted(delivery.attempts.all(), key=lambda attempt: attempt.number, reverse=True)
    is_pending = delivery.state == Delivery.State.PENDING
    until = delivery.claimed_until
    is_claimed = is_pending and until is not None and until > timezone.now()
    return Sent(
        id=str(delivery.uuid),
        message_id=delivery.message_id,
        type=messages.type_of(delivery.kind),
        lock=delivery.lock,
        body=json.dumps(json.loads(delivery.body), indent=2, ensure_ascii=False),
        created_at=delivery.created_at,
        status="retrying" if is_pending and attempts and not is_claimed else delivery.state,
        next_at=delivery.due_at if is_pending and not is_claimed else None,
        tries=[
            _try(attempt, is_under_way=is_claimed and attempt.number == delivery.attempts_made) for attempt in attempts
        ],
    )


def _try(attempt: Attempt, *, is_under_way: bool) -> Try:
    failure = answers.failure_of(attempt, under_way=is_under_way)
    return Try(
        number=attempt.number,
        trigger=attempt.trigger,
        began_at=attempt.began_at,
        took=None if attempt.took_ms is None else timedelta(milliseconds=attempt.took_ms),
        status=attempt.status,
        failure="" if failure is None else _FAILURES[failure],
        is_under_way=is_under_way,
        answer=attempt.answer,
    )
