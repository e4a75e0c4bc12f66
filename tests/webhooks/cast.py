"""Keepers of a team's webhooks, its deliveries, what receivers were sent, and time that passes without waiting."""

from __future__ import annotations

import json
import socket
from collections.abc import Callable
from dataclasses import dataclass
from datetime import datetime, timedelta
from typing import Any

import httpx
from django.db import connections
from django.db.models import F
from django.utils import timezone
from standardwebhooks import Webhook, WebhookVerificationError

from octostore.teams.models import AuditEntry, Team
from tests.locks.cast import Worker
from tests.webhooks.receivers import Behaviour, Receiver
from webhooks import fanning, sending
from webhooks.claiming import Claim, claim_due, free_places
from webhooks.models import Attempt, Delivery, Endpoint
from webhooks.recording import record

UNKNOWN = "00000000-0000-4000-8000-000000000000"
URL = "https://example.com/hook?key=canary"
SHOWN = "https://example.com/hook"


class Keeper(Worker):
    """A caller with a key, with the verbs of webhooks as methods."""

    def register(self, url: str = URL, **asked: Any) -> dict[str, Any]:
        """The answer to a registration that must succeed."""
        answer = self.post("/webhooks", json={"url": url, **asked})
        assert answer.status_code == 201, answer.text
        made: dict[str, Any] = answer.json()
        return made

    def webhook(self, webhook_id: str) -> dict[str, Any]:
        return self._got(f"/webhooks/{webhook_id}")

    def change(self, webhook_id: str, **asked: Any) -> dict[str, Any]:
        answer = self.patch(f"/webhooks/{webhook_id}", json=asked)
        assert answer.status_code == 200, answer.text
        changed: dict[str, Any] = answer.json()
        return changed

    def remove(self, webhook_id: str) -> None:
        assert self.delete(f"/webhooks/{webhook_id}").status_code == 204

    def rotate(self, webhook_id: str, **asked: Any) -> dict[str, Any]:
        answer = self.post(f"/webhooks/{webhook_id}/rotate", json=asked)
        assert answer.status_code == 200, answer.text
        rotated: dict[str, Any] = answer.json()
        return rotated

    def try_out(self, webhook_id: str) -> dict[str, Any]:
        answer = self.post(f"/webhooks/{webhook_id}/test")
        assert answer.status_code == 202, answer.text
        tried: dict[str, Any] = answer.json()
        return tried

    def recover(self, webhook_id: str, since: str = "2026-01-01T00:00:00Z") -> int:
        answer = self.post(f"/webhooks/{webhook_id}/recover", json={"since": since})
        assert answer.status_code == 202, answer.text
        recovered: int = answer.json()["recovered"]
        return recovered

    def redeliver(self, webhook_id: str, delivery_id: str) -> httpx.Response:
        return self.post(f"/webhooks/{webhook_id}/deliveries/{delivery_id}/redeliver")

    def deliveries(self, webhook_id: str, **asked: Any) -> list[dict[str, Any]]:
        listed: list[dict[str, Any]] = self._got(f"/webhooks/{webhook_id}/deliveries", **asked)["deliveries"]
        return listed

    def delivery(self, webhook_id: str) -> dict[str, Any]:
        """The only one there is."""
        (one,) = self.deliveries(webhook_id)
        assert self._got(f"/webhooks/{webhook_id}/deliveries/{one['id']}") == one
        return one

    def _got(self, path: str, **asked: Any) -> dict[str, Any]:
        answer = self.get(path, params=asked)
        assert answer.status_code == 200, answer.text
        seen: dict[str, Any] = answer.json()
        return seen


@dataclass(frozen=True)
class Call:
    """One request as a receiver got it."""

    headers: dict[str, str]
    raw: bytes

    @classmethod
    def of(cls, request: bytes) -> Call:
        head, _, raw = request.partition(b"\r\n\r\n")
        lines = head.decode("latin-1").split("\r\n")[1:]
        return cls({name.lower(): value.strip() for name, _, value in (line.partition(":") for line in lines)}, raw)

    @property
    def id(self) -> str:
        return self.headers["webhook-id"]

    @property
    def body(self) -> dict[str, Any]:
        said: dict[str, Any] = json.loads(self.raw)
        return said

    @property
    def signatures(self) -> list[str]:
        return self.headers["webhook-signature"].split(" ")

    def is_signed_with(self, secret: str) -> bool:
        try:
            Webhook(secret).verify(self.raw, self.headers)
        except WebhookVerificationError:
            return False
        return True


def calls(receiver: Receiver) -> list[Call]:
    """What the receiver was sent, in order."""
    return [Call.of(request) for request in receiver.requests]


def in_turn(*behaviours: Behaviour) -> Behaviour:
    """Behaves so, one request after the other, and goes on like the last."""
    left = list(behaviours)

    def behave(connection: socket.socket, request: bytes) -> None:
        (left.pop(0) if len(left) > 1 else left[0])(connection, request)

    return behave


def meanwhile(act: Callable[[], object], behaviour: Behaviour) -> Behaviour:
    """Behaves so once `act` was done, while the caller waits. What `act` raises breaks the answer off."""

    def behave(connection: socket.socket, request: bytes) -> None:
        try:
            act()
        finally:
            connections.close_all()
        behaviour(connection, request)

    return behave


def due() -> list[int]:
    """The endpoints whose deliveries wait for an attempt, each as often as it may have one more in flight."""
    return [endpoint.pk for endpoint in free_places(timezone.now(), Endpoint.objects.all())]


def send() -> int:
    """Take over all that is owed and make every attempt that is due now; how many were made."""
    fanning.fan_out()
    made = 0
    while waiting := due():
        made += sum([attempt_next(endpoint_id) for endpoint_id in waiting])
    return made


def attempt_next(endpoint_id: int) -> bool:
    """Make the attempt of this endpoint that is due, if there is one and it may be made; whether it was."""
    claims = claim_due(at_most=1, endpoint_id=endpoint_id)
    for claim in claims:
        ended = [sending.call(claim)]
        while ended:
            ended = record(ended)
    return bool(claims)


def begin_and_die(made: dict[str, Any]) -> Claim:
    """What a process claimed that was killed before it called."""
    (claim,) = claim_due(at_most=1, endpoint_id=endpoint_of(made).pk)
    return claim


def become_due() -> None:
    """As if every attempt that is scheduled had come round, and every claim were over."""
    Delivery.objects.filter(state=Delivery.State.PENDING).update(due_at=F("created_at"), claimed_until=None)


def go_back(queryset: Any, length: timedelta, *columns: str) -> None:
    """As if these instants of these rows lay so much further back."""
    for one in queryset:
        moved = {column: at - length for column in columns if (at := getattr(one, column)) is not None}
        type(one).objects.filter(pk=one.pk).update(**moved)


def endpoint_of(made: dict[str, Any]) -> Endpoint:
    return Endpoint.objects.get(uuid=made["id"])


def only_delivery() -> Delivery:
    return Delivery.objects.get()


def stored() -> list[dict[str, Any]]:
    """Every row of every endpoint, delivery and attempt."""
    return [dict(row) for model in (Endpoint, Delivery, Attempt) for row in model.objects.order_by("pk").values()]


def audited(team: Team) -> list[tuple[str, str]]:
    """What was done to what of the team's webhooks, in order."""
    found = AuditEntry.objects.filter(team=team).exclude(action__startswith="key_").order_by("id")
    return [(entry.action, entry.object) for entry in found]


def milliseconds(at: datetime) -> int:
    return round(at.timestamp() * 1000)
