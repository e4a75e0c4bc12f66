"""Clients of the engine and of the API that write down what they did and what they were told."""

from __future__ import annotations

import time
from collections.abc import Callable
from datetime import timedelta
from typing import Any

import httpx
from django.db import connection

from octostore.leases import engine
from octostore.leases.errors import NotCurrent
from octostore.leases.models import Lease, LeaseEvent
from octostore.leases.outcomes import Granted, Held
from octostore.lib.errors import Unavailable
from tests.history import Event, History, Operation, digest
from tests.http import Client

SPACE = "elections"


class Player:
    """What both kinds of client share: one name in the history, one clock, one way to write down."""

    def __init__(self, history: History, client: str) -> None:
        self.history, self.client = history, client

    def note(self, verb: Any, name: str, called: float, outcome: Any, **more: Any) -> None:
        self.history.record(
            Operation(
                verb=verb,
                name=name,
                client=self.client,
                called=called,
                outcome=outcome,
                **{"returned": time.monotonic()} | more,
            )
        )


class EnginePlayer(Player):
    """Calls the engine in this process."""

    def acquire(self, name: str, *, ttl: float = 30, attempt: str | None = None) -> Granted | None:
        called = time.monotonic()
        known = {"attempt": digest(attempt), "ttl": ttl}
        try:
            outcome = engine.acquire(SPACE, name, holder=self.client, ttl=timedelta(seconds=ttl), attempt=attempt)
        except Unavailable:
            self.note("campaign", name, called, "unknown", **known)
            return None
        if isinstance(outcome, Granted):
            self.note("campaign", name, called, "ok", **known, **_held(outcome))
            return outcome
        if isinstance(outcome, Held):
            self.note("campaign", name, called, "lost", **known, term=outcome.hold.term)
        else:
            self.note("campaign", name, called, "refused", **known)
        return None

    def renew(self, name: str, granted: Granted, *, ttl: float | None = None) -> Granted | None:
        called = time.monotonic()
        known = {"ttl": ttl or granted.hold.ttl.total_seconds()}
        length = None if ttl is None else timedelta(seconds=ttl)
        proof = {"term": granted.hold.term, "capability": digest(granted.capability)}
        try:
            outcome = engine.renew(SPACE, name, capability=granted.capability, ttl=length)
        except NotCurrent:
            self.note("renew", name, called, "refused", **known, **proof)
            return None
        except Unavailable:
            self.note("renew", name, called, "unknown", **known, **proof)
            return None
        self.note("renew", name, called, "ok", **known, **_held(outcome))
        return outcome

    def release(self, name: str, granted: Granted) -> bool:
        called = time.monotonic()
        capability = digest(granted.capability)
        try:
            outcome = engine.release(SPACE, name, capability=granted.capability)
        except NotCurrent:
            self.note("resign", name, called, "refused", capability=capability, term=granted.hold.term)
            return False
        except Unavailable:
            self.note("resign", name, called, "unknown", capability=capability, term=granted.hold.term)
            return False
        self.note("resign", name, called, "ok", capability=capability, term=outcome.hold.term)
        return True

    def inspect(self, name: str) -> int | None:
        """The term that holds the name."""
        called = time.monotonic()
        outcome = engine.inspect(SPACE, name)
        term = outcome.hold.term if isinstance(outcome, Held) else None
        self.note("status", name, called, "ok", term=term)
        return term


class HttpPlayer(Player):
    """Calls the API; answers come back as they are."""

    def __init__(self, history: History, client: str, http: Client) -> None:
        super().__init__(history, client)
        self.http = http

    def campaign(self, room: str, *, ttl: int = 30, key: str | None = None) -> httpx.Response | None:
        def call() -> httpx.Response:
            return self.http.campaign(room, self.client, ttl_seconds=ttl, key=key)

        return self._ask("campaign", room, call, ttl=float(ttl), attempt=digest(key))

    def renew(self, room: str, leader_token: str, *, term: int, ttl: int) -> httpx.Response | None:
        known = {"ttl": float(ttl), "term": term, "capability": digest(leader_token)}
        return self._ask("renew", room, lambda: self.http.renew(room, leader_token, ttl_seconds=ttl), **known)

    def resign(self, room: str, leader_token: str, *, term: int) -> httpx.Response | None:
        known = {"term": term, "capability": digest(leader_token)}
        return self._ask("resign", room, lambda: self.http.resign(room, leader_token), **known)

    def status(self, room: str) -> httpx.Response | None:
        return self._ask("status", room, lambda: self.http.room(room))

    def _ask(self, verb: str, room: str, call: Callable[[], httpx.Response], **known: Any) -> httpx.Response | None:
        """None where no answer came; the outcome is unknown then, as it is after a 503."""
        called = time.monotonic()
        try:
            answer = call()
        except httpx.TransportError:
            self.note(verb, room, called, "unknown", **known)
            return None
        if answer.status_code != 200:
            self.note(verb, room, called, "unknown" if answer.status_code == 503 else "refused", **known)
            return answer
        body = answer.json()
        match verb, body["status"]:
            case "status", _:
                known["term"] = body["leader"]["term"] if body["status"] == "leader" else None
            case _, "leader":
                known |= {"term": body["leader"]["term"], "capability": digest(body["leader_token"])}
                known["safe_for"] = body["safe_for_ms"] / 1000
            case _, "follower":
                known["term"] = body["leader"]["term"]
        lost = verb == "campaign" and body["status"] == "follower"
        self.note(verb, room, called, "lost" if lost else "ok", **known)
        return answer


def overrun(history: History, name: str, *, in_ms: int = -1) -> None:
    """Move the deadline of the name's live term to `in_ms` from now, and write down that it passes then."""
    called = time.monotonic()
    lease = Lease.objects.get(space=SPACE, name=name)
    live = Lease.objects.filter(pk=lease.pk, term=lease.term, ended_at=None)
    if live.update(expires_at=now_ms() + in_ms):
        passed = time.monotonic() + max(in_ms, 0) / 1000
        Player(history, "test").note("overrun", name, called, "ok", term=lease.term, returned=passed)


def now_ms() -> int:
    """The database's clock, as the engine reads it."""
    with connection.cursor() as cursor:
        if connection.vendor == "postgresql":
            cursor.execute("SELECT floor(extract(epoch FROM clock_timestamp()) * 1000)::bigint")
            return int(cursor.fetchone()[0])
        from octostore.leases.clock import Mark
        from octostore.leases.sqlite.writing import READ_CLOCK

        cursor.execute(READ_CLOCK)
        return Mark(*cursor.fetchone() or (0, 0, "")).now()


def collect_events(history: History) -> None:
    """Read what was committed into the history."""
    counted = LeaseEvent.objects.filter(lease__space=SPACE).order_by("lease", "incarnation", "n")
    rows = counted.select_related("lease")
    history.events = [
        Event(
            name=row.lease.name,
            incarnation=row.incarnation,
            n=row.n,
            kind=row.kind,
            term=row.term,
            at=row.at,
            expires_at=row.expires_at,
        )
        for row in rows
    ]


def _held(outcome: Granted) -> dict[str, Any]:
    return {
        "term": outcome.hold.term,
        "capability": digest(outcome.capability),
        "safe_for": outcome.remaining.total_seconds(),
    }
