"""Callers of the API, what they are told, what is stored, and time that passes without waiting."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from datetime import UTC, datetime
from typing import Any
from urllib.parse import unquote_to_bytes

import httpx
from django.db.models import F

from octostore.api.handler import get_application
from octostore.leases.models import Lease, LeaseEvent
from tests.http import Client
from tests.players import SPACE, now_ms

UNKNOWN_TOKEN = "A" * 43

_application = get_application()


def service(**environ: Any) -> Callable[..., Iterable[bytes]]:
    """The whole stack, whose every request has `environ` in its WSGI environment."""

    def app(given: dict[str, Any], start_response: Callable[..., Any]) -> Iterable[bytes]:
        # httpx gives text where WSGI wants bytes as latin-1.
        path = {"PATH_INFO": given["PATH_INFO"].encode().decode("latin-1")}
        answer = _application(given | path | environ, start_response)
        # Every HTTP server leaves the body of an answer to HEAD away.
        return [] if given["REQUEST_METHOD"] == "HEAD" else answer

    return app


def caller(**environ: Any) -> Client:
    """A client of the service with `environ`."""
    return Client(app=service(**environ))


def caller_at(raw_path: str) -> Client:
    """A client that calls one address, given before percent-decoding, however odd it is."""
    return caller(PATH_INFO=unquote_to_bytes(raw_path).decode("latin-1"))


def win(client: Client, room: str, candidate_id: str = "atlas", **body: Any) -> dict[str, Any]:
    """The answer to a campaign that must win."""
    answer = client.campaign(room, candidate_id, **body)
    assert answer.status_code == 200, answer.text
    won: dict[str, Any] = answer.json()
    assert won["status"] == "leader", won
    return won


def told(answer: httpx.Response) -> tuple[int, str]:
    """Status and code of a refusal."""
    return answer.status_code, answer.json()["code"]


def stored() -> list[dict[str, Any]]:
    """Every row of every lease and event."""
    return [dict(one) for model in (Lease, LeaseEvent) for one in model.objects.order_by("pk").values()]


def kinds(room: str) -> list[str]:
    """The room's recorded events in their order."""
    events = LeaseEvent.objects.filter(lease__space=SPACE, lease__name=room)
    return [event.kind for event in events.order_by("incarnation", "n")]


def row(room: str) -> Lease:
    return Lease.objects.get(space=SPACE, name=room)


def age(room: str, seconds: float) -> None:
    """As if the room's last term had begun, been renewed and ended `seconds` earlier."""
    back = round(seconds * 1000)
    instants = ("began_at", "expires_at", "ended_at", "available_at")
    Lease.objects.filter(space=SPACE, name=room).update(**{column: F(column) - back for column in instants})


def expire(room: str) -> None:
    """Let the deadline have passed a moment ago, unmarked as if no sweeper ran."""
    age(room, (row(room).expires_at - now_ms() + 1) / 1000)


def instant(text: str) -> int:
    """Milliseconds since 1970 of an RFC 3339 instant in UTC with milliseconds."""
    moment = datetime.strptime(text, "%Y-%m-%dT%H:%M:%S.%fZ").replace(tzinfo=UTC)
    assert len(text) == len("2026-01-01T00:00:00.000Z"), text
    return round(moment.timestamp() * 1000)
