"""Customers of the service: a team that takes locks over HTTP, and the receivers that it has told of."""

from __future__ import annotations

from collections.abc import Sequence
from contextlib import ExitStack, suppress
from dataclasses import dataclass, field
from typing import Any, Self
from uuid import uuid4

import httpx
from django.db.models import QuerySet
from django.utils import timezone

from octostore.leases.models import LeaseEvent, OwedEvent
from octostore.teams.models import Team
from tests.deliveries.ledger import Event, Ledger, violations
from tests.locks.cast import Worker, found_team, issue, space_of
from tests.processes import Web
from tests.server.service import wait_until
from tests.webhooks.receivers import receiving
from webhooks.models import Attempt, Delivery, Endpoint

# Everything has arrived within this time of the end of whatever was in the way.
RECOVERY_SECONDS = 120


@dataclass(frozen=True, kw_only=True)
class Hook:
    """One of a team's webhooks, and what came of it."""

    id: str
    secret: str = field(repr=False)
    pattern: str
    ledger: Ledger

    @property
    def endpoint(self) -> Endpoint:
        return Endpoint.objects.get(uuid=self.id)

    @property
    def deliveries(self) -> QuerySet[Delivery]:
        return Delivery.objects.filter(endpoint__uuid=self.id)

    @property
    def attempts(self) -> QuerySet[Attempt]:
        return Attempt.objects.filter(delivery__endpoint__uuid=self.id).order_by("delivery", "number")

    def fits(self, lock: str) -> bool:
        return lock.startswith(self.pattern.removesuffix("*"))


class Customer:
    """A team, and a worker of it that may do everything."""

    def __init__(self, web: Web) -> None:
        self.web = web
        self.team: Team = found_team()
        self.key = issue(self.team, "admin")
        self.hooks: list[Hook] = []
        self._open = ExitStack()
        self.worker = self._open.enter_context(Worker(self.key, base_url=web.url))

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        """From now on nothing is sent to its receivers, and they go."""
        Endpoint.objects.filter(team=self.team).update(deleted_at=timezone.now())
        self._open.close()

    def another_worker(self) -> Worker:
        """A client with connections of its own."""
        return Worker(self.key, base_url=self.web.url)

    def hook(self, ledger: Ledger | None = None, *, pattern: str = "*", **asked: Any) -> Hook:
        """Register a receiver that behaves as the ledger says."""
        ledger = ledger or Ledger()
        receiver = self._open.enter_context(receiving(ledger))
        answer = self.worker.post("/webhooks", json={"url": receiver.url(), "lock_pattern": pattern} | asked)
        assert answer.status_code == 201, answer.text
        made = answer.json()
        self.hooks.append(Hook(id=made["id"], secret=made["secret"], pattern=pattern, ledger=ledger))
        return self.hooks[-1]

    def change(self, pairs: int, *, under: str = "") -> None:
        """Take and give back so many locks: two events each."""
        for _ in range(pairs):
            change(self.worker, f"{under}{uuid4().hex[:12]}")

    def change_until_refused(self) -> None:
        """Go on until the service is gone."""
        with suppress(httpx.TransportError), self.another_worker() as worker:
            while True:
                change(worker, uuid4().hex)

    def events(self, hook: Hook) -> set[Event]:
        """What was committed and is owed to that receiver."""
        rows = LeaseEvent.objects.filter(lease__space=space_of(self.team))
        places = rows.values_list("lease__name", "incarnation", "n")
        return {(lock, f"{incarnation}-{n}") for lock, incarnation, n in places if hook.fits(lock)}

    def committed_at(self) -> dict[Event, float]:
        """When each event was committed, in seconds since 1970 by the database's clock."""
        rows = LeaseEvent.objects.filter(lease__space=space_of(self.team))
        places = rows.values_list("lease__name", "incarnation", "n", "at")
        return {(lock, f"{incarnation}-{n}"): at / 1000 for lock, incarnation, n, at in places}

    def settles(self, *, seconds: float = RECOVERY_SECONDS) -> bool:
        """Whether in this time nothing is on its way any more."""
        return wait_until(self._is_settled, seconds=seconds)

    def _is_settled(self) -> bool:
        pending = Delivery.objects.filter(endpoint__team=self.team, state=Delivery.State.PENDING)
        return not OwedEvent.objects.filter(space=space_of(self.team)).exists() and not pending.exists()

    def violations(self, *, killed_at: Sequence[float] = ()) -> list[str]:
        """How what came to its receivers differs from what was committed."""
        return [
            f"{hook.pattern}: {broken}"
            for hook in self.hooks
            for broken in violations(hook.ledger, self.events(hook), hook.secret, killed_at=killed_at)
        ]


def change(worker: Worker, lock: str) -> None:
    """Take it and give it back."""
    worker.release(lock, worker.hold(lock, ttl_seconds=60)["lease_id"])


def let_claims_pass() -> None:
    """As if the time of every claim were over; for when no sender is alive."""
    Delivery.objects.filter(claimed_until__gt=timezone.now()).update(claimed_until=timezone.now())


def prove(*hooks: Hook) -> None:
    """As if a call to each had just succeeded."""
    Endpoint.objects.filter(uuid__in=[hook.id for hook in hooks]).update(
        last_success_at=timezone.now(), failing_since=None
    )
