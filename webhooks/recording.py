"""What came of attempts, and what follows from it for the delivery and its endpoint.

Rows are locked in one order by all: the team, deliveries, the endpoint.
"""

from __future__ import annotations

import random
from collections import defaultdict
from collections.abc import Sequence
from dataclasses import dataclass
from datetime import datetime, timedelta

from django.utils import timezone

from octostore.lib import outbound
from octostore.lib.outbound import Answer, Failure
from octostore.teams.writing import changing
from webhooks import endpoints, schedule
from webhooks.claiming import Claim
from webhooks.models import Attempt, Delivery, Endpoint

# A third of what a call may take.
SLOW = timedelta(seconds=outbound.SECONDS / 3)


@dataclass(frozen=True, slots=True, kw_only=True)
class Ended:
    """An attempt that is over."""

    claim: Claim
    outcome: Answer | Failure

    @property
    def is_taken(self) -> bool:
        return isinstance(self.outcome, Answer) and 200 <= self.outcome.status < 300

    def may_switch_off(self, now: datetime) -> bool:
        gone = self.outcome.status == schedule.GONE
        return not self.is_taken and (gone or schedule.is_off_due(self.claim.endpoint.failing_since, now))


def record(ended: Sequence[Ended]) -> list[Ended]:
    """Write down what came of these; gives back those whose delivery somebody else changes just now."""
    now = timezone.now()
    usual = [one for one in ended if not one.may_switch_off(now)]
    with changing(in_background=True):
        left = _settle(usual, now)
    for one in ended:
        if one.may_switch_off(now):
            with changing(in_background=True):
                endpoints.hold(one.claim.endpoint.team_id)
                left += _settle([one], now)
                _switch_off_failing(one.claim, now)
    return left


def _settle(ended: Sequence[Ended], now: datetime) -> list[Ended]:
    """Write it down within a transaction; what is left out as its row is locked."""
    wanted = Delivery.objects.filter(pk__in=[one.claim.delivery_id for one in ended])
    rows = {row.pk: row for row in wanted.select_for_update(skip_locked=True, no_key=True).defer("body")}
    settled = [one for one in ended if one.claim.delivery_id in rows]
    Attempt.objects.bulk_update(map(_attempt, settled), ["took_ms", "status", "failure", "answer"])
    for one in settled:
        row = rows[one.claim.delivery_id]
        # What was claimed again meanwhile is judged by the later attempt, unless this one settles it.
        if row.state != Delivery.State.DELIVERED and (one.is_taken or row.attempts_made == one.claim.number):
            _go_on(one, row, now)
    Delivery.objects.bulk_update(rows.values(), ["state", "ended_at", "due_at", "claimed_until"])
    _mark(settled, now)
    # The others were forgotten.
    there = set(wanted.exclude(pk__in=rows).values_list("pk", flat=True)) if len(settled) < len(ended) else set()
    return [one for one in ended if one.claim.delivery_id in there]


def _attempt(ended: Ended) -> Attempt:
    outcome = ended.outcome
    failure = outcome.reason if isinstance(outcome, Failure) else "" if ended.is_taken else "status"
    return Attempt(
        pk=ended.claim.attempt_id,
        took_ms=outcome.took // timedelta(milliseconds=1),
        status=outcome.status,
        failure=failure,
        answer=outcome.text if isinstance(outcome, Answer) else "",
    )


def _go_on(ended: Ended, row: Delivery, now: datetime) -> None:
    outcome = ended.outcome
    step = schedule.after_attempt(
        max(row.round_made, 1),
        status=outcome.status,
        retry_after=outcome.retry_after if isinstance(outcome, Answer) else None,
        now=now,
        random=random.random,
    )
    is_pending = row.state == Delivery.State.PENDING
    row.claimed_until = None
    match step:
        case schedule.Done():
            row.state, row.ended_at = Delivery.State.DELIVERED, now
        case schedule.Next(at) if is_pending:
            row.due_at = at
        case schedule.GiveUp() if is_pending:
            row.state, row.ended_at = Delivery.State.FAILED, now
        case schedule.Disable() if is_pending and (endpoint := _called(ended.claim)):
            row.state, row.ended_at = Delivery.State.FAILED, now
            endpoints.switch_off(endpoint, Endpoint.Off.GONE)


def _switch_off_failing(claim: Claim, now: datetime) -> None:
    endpoint = _called(claim)
    if endpoint is not None and schedule.is_off_due(endpoint.failing_since, now):
        endpoints.switch_off(endpoint, Endpoint.Off.FAILING)


def _called(claim: Claim) -> Endpoint | None:
    """The endpoint, if it is active and its URL still the one that was called: of another the call says nothing."""
    same = Endpoint.objects.filter(pk=claim.endpoint.pk, url=claim.endpoint.url, off="", deleted_at=None)
    return same.select_related("team").first()


def _mark(settled: Sequence[Ended], now: datetime) -> None:
    """Keep how the endpoints do."""
    went = defaultdict(list)
    for one in settled:
        went[one.claim.endpoint.pk, one.claim.endpoint.url].append(one)
    for endpoint_id, url in sorted(went):
        same, calls = Endpoint.objects.filter(pk=endpoint_id, url=url), went[endpoint_id, url]
        if taken := [one for one in calls if one.is_taken]:
            same.update(failing_since=None, last_success_at=now, is_slow=taken[-1].outcome.took > SLOW)
        if not calls[-1].is_taken:
            same.filter(failing_since=None).update(failing_since=now)
