"""How many attempts may be under way at once, so that who does not answer waits alone."""

from __future__ import annotations

from collections import Counter
from datetime import datetime

from django.conf import settings
from django.db.models import Count

from octostore.teams.writing import reading
from webhooks.models import Delivery, Endpoint

# What an endpoint is judged by.
_JUDGED = ("team_id", "failing_since", "last_success_at", "is_slow")


class InFlight:
    """What is under way at an instant, and who may have one more.

    An endpoint that fails or has yet to succeed has one at a time; all such endpoints, and those that
    answer slowly, have half of a worker's threads together. An endpoint that works has a few, of those
    that its team may have; its first is never kept from it by what its team's other endpoints wait for.
    """

    def __init__(self, now: datetime) -> None:
        self._of_endpoint = Counter[int]()
        self._of_team = Counter[int]()
        self._may_stall = 0
        # What was cancelled meanwhile waits for its receiver all the same.
        claimed = Delivery.objects.filter(claimed_until__gt=now).order_by()
        counted = claimed.values_list("endpoint", *(f"endpoint__{column}" for column in _JUDGED)).annotate(Count("id"))
        for number, *values, count in reading(lambda: list(counted)):
            self._add(Endpoint(pk=number, **dict(zip(_JUDGED, values, strict=True))), count)

    def take(self, endpoint: Endpoint) -> bool:
        """Count one more for the endpoint, if it may have it; whether it may."""
        may = self._may(endpoint)
        if may:
            self._add(endpoint)
        return may

    def _may(self, endpoint: Endpoint) -> bool:
        own = self._of_endpoint[endpoint.pk]
        if endpoint.may_stall and self._may_stall >= settings.WEBHOOK_THREADS // 2:
            return False
        has_room = endpoint.is_proved and own < settings.WEBHOOK_IN_FLIGHT_ENDPOINT
        return own == 0 or (has_room and self._of_team[endpoint.team_id] < settings.WEBHOOK_IN_FLIGHT_TEAM)

    def _add(self, endpoint: Endpoint, count: int = 1) -> None:
        self._of_endpoint[endpoint.pk] += count
        self._of_team[endpoint.team_id] += count
        self._may_stall += count if endpoint.may_stall else 0
