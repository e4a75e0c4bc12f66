"""Measuring the service from outside of the web process, and keeping what was measured where that process finds it.

The probe asks the web process over HTTP, as any client would, and the database by itself; a beat task
runs it. Redis keeps the latest: where it is gone, nothing is known, and the page says so.
"""

from __future__ import annotations

import http.client
import time
from collections.abc import Callable
from datetime import timedelta
from functools import cache
from typing import Literal
from urllib.parse import urlsplit

import msgspec
import redis
from django.conf import settings
from django.db.models import Min
from django.utils import timezone
from redis.backoff import NoBackoff
from redis.retry import Retry

from octostore.leases import engine
from octostore.leases.outcomes import Granted
from octostore.lib import secrets
from octostore.lib.errors import DomainError
from octostore.teams.writing import reading
from webhooks.claiming import waiting

State = Literal["ok", "slow", "down"]

KEY = "octostore:measured"
KEPT_SECONDS = 7 * 86_400
ANSWER_SECONDS = 5.0
SLOW_MS = 1000
BEHIND_MS, FAR_BEHIND_MS = 60_000, 600_000
REDIS_SECONDS = 0.5


class Component(msgspec.Struct, kw_only=True):
    """One thing that can be well or not; `figure_ms` is how long it took, or how far it is behind."""

    name: str
    title: str
    state: State
    figure_ms: int | None
    says: str


class Measured(msgspec.Struct, kw_only=True):
    """What one run of the probe found; the instant in milliseconds since 1970 by the worker's clock."""

    at: int
    components: list[Component]


class Faulty(Exception):
    """What was asked for did not come."""


def measure() -> Measured:
    """Try everything once; each is bounded, and none keeps another from being tried."""
    components = [_timed("web", "Pages and API", _web)]
    if settings.PUBLIC_ELECTIONS:
        components.append(_timed("elections", "Elections", _elections))
        components.append(_timed("live", "Live streams", _live))
    components += [_timed("locks", "Locks", _locks), _webhooks()]
    return Measured(at=time.time_ns() // 1_000_000, components=components)


def keep(measured: Measured) -> None:
    """Raises redis.RedisError where it cannot be kept."""
    _redis().set(KEY, msgspec.json.encode(measured), ex=KEPT_SECONDS)


def kept() -> Measured | None:
    """What was measured last; None where nobody knows."""
    if not settings.REDIS_URL:
        return None
    try:
        found = _redis().get(KEY)
        return msgspec.json.decode(found, type=Measured) if found else None
    except (redis.RedisError, msgspec.MsgspecError):
        return None


def _timed(name: str, title: str, probe: Callable[[], None]) -> Component:
    began = time.monotonic()
    try:
        probe()
    except (OSError, http.client.HTTPException, DomainError, Faulty) as error:
        return Component(name=name, title=title, state="down", figure_ms=None, says=_in_words(error))
    took = round((time.monotonic() - began) * 1000)
    state: State = "slow" if took > SLOW_MS else "ok"
    return Component(name=name, title=title, state=state, figure_ms=took, says=f"answered in {took} ms")


def _web() -> None:
    _ask("GET", "/health")


def _elections() -> None:
    """Lead, renew and resign in a room of the probe's own, which nobody guesses."""
    room = f"/elections/{_room()}"
    won = _ask("POST", f"{room}/campaign", {"candidate_id": "probe", "ttl_seconds": settings.ELECTION_TTL_MIN_SECONDS})
    if "leader_token" in won:
        holds = {"leader_token": won["leader_token"]}
        _ask("POST", f"{room}/renew", holds)
        _ask("POST", f"{room}/resign", holds)


def _live() -> None:
    """The first event of a stream."""
    connection = _connection()
    try:
        connection.request("GET", f"/elections/{_room()}/watch")
        answer = connection.getresponse()
        if answer.status != http.client.OK or not answer.readline():
            raise Faulty(f"the stream answered {answer.status}")
    finally:
        connection.close()


def _locks() -> None:
    """A lease taken and given back, as locks take them."""
    granted = engine.acquire("probe", "lock", holder="probe", ttl=timedelta(seconds=5))
    if isinstance(granted, Granted):
        engine.release("probe", "lock", capability=granted.capability)


def _webhooks() -> Component:
    """How long the oldest attempt that is due has been waiting."""
    now = timezone.now()
    try:
        oldest = reading(lambda: waiting(now).aggregate(oldest=Min("due_at"))["oldest"])
    except DomainError as error:
        return Component(name="webhooks", title="Webhooks", state="down", figure_ms=None, says=_in_words(error))
    behind = round((now - oldest).total_seconds() * 1000) if oldest else 0
    state: State = "ok" if behind < BEHIND_MS else "slow" if behind < FAR_BEHIND_MS else "down"
    says = "nothing waits" if not behind else f"the oldest attempt has been due for {behind // 1000} s"
    return Component(name="webhooks", title="Webhooks", state=state, figure_ms=behind, says=says)


def _ask(method: str, path: str, body: dict[str, object] | None = None) -> dict[str, object]:
    connection = _connection()
    try:
        content = None if body is None else msgspec.json.encode(body)
        connection.request(method, path, content, {"Content-Type": "application/json"})
        answer = connection.getresponse()
        told: dict[str, object] = msgspec.json.decode(answer.read() or b"{}", type=dict)
    except msgspec.MsgspecError as error:
        raise Faulty("the answer was no JSON") from error
    finally:
        connection.close()
    if answer.status != http.client.OK:
        raise Faulty(f"it answered {answer.status} {told.get('code', '')}".rstrip())
    return told


def _connection() -> http.client.HTTPConnection:
    address = urlsplit(settings.PROBE_URL)
    kind = http.client.HTTPSConnection if address.scheme == "https" else http.client.HTTPConnection
    return kind(address.hostname or "", address.port, timeout=ANSWER_SECONDS)


def _room() -> str:
    return secrets.encode(settings.SERVER_KEYS[0].derive("probe")[:24])


def _in_words(error: Exception) -> str:
    """Without what only operators should see, like addresses."""
    match error:
        case Faulty():
            return str(error)
        case TimeoutError():
            return f"no answer within {ANSWER_SECONDS:.0f} s"
        case DomainError():
            return error.text
        case _:
            return "cannot be reached"


@cache
def _redis() -> redis.Redis:
    return redis.Redis.from_url(
        settings.REDIS_URL,
        socket_connect_timeout=REDIS_SECONDS,
        socket_timeout=REDIS_SECONDS,
        retry=Retry(NoBackoff(), 0),
    )
