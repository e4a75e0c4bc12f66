"""Every route against every kind of key: taken from the served routes, so a new one is covered the day it appears."""

from __future__ import annotations

import json
import re
from collections.abc import Iterator
from dataclasses import dataclass
from datetime import timedelta
from typing import Any
from uuid import uuid4

import httpx
import pytest
from django.urls import URLPattern, URLResolver, get_resolver
from django.utils import timezone

from octostore.api.schema import openapi
from octostore.teams.models import ApiKey, Team
from tests.locks.cast import Worker, found_team, issue
from tests.webhooks.cast import Keeper

# Pages for people, behind sessions and not behind keys.
PAGES = (
    "accounts",
    "staff",
    "invitations/",
    "r/",
    "t/",
    "ops",
    "start",
    "try",
    "live",
    "display",
    "keyboard",
    "status.json",
)
KEYED: dict[str, list[str]] = {"apiKey": []}
LOCK = "repo/issue-1842"
# What differs between two answers that say the same.
VARYING = re.compile(
    r"osk_[\w-]+|whsec_[\w+/=]+|msg_[\w-]+|key-[0-9a-f]{8}|req_[0-9a-f]{32}|[0-9a-f]{8}(?:-[0-9a-f]{4}){3}-[0-9a-f]{12}|\d{4}-\d\d-\d\dT[\d:.]+Z|\d{4,}"
)


@dataclass(frozen=True)
class Operation:
    method: str
    path: str
    body: Any

    def __str__(self) -> str:
        return f"{self.method} {self.path}"


def _operations() -> Iterator[Operation]:
    for path, methods in openapi()["paths"].items():
        for method, operation in methods.items():
            if KEYED in operation["security"]:
                content = operation.get("requestBody", {}).get("content", {}).get("application/json", {})
                examples = [example["value"] for example in content.get("examples", {}).values()]
                yield Operation(method.upper(), path, examples[0] if examples else None)


def _routes(patterns: list[Any], before: str = "") -> Iterator[str]:
    for pattern in patterns:
        route = before + str(pattern.pattern)
        if isinstance(pattern, URLResolver):
            yield from _routes(pattern.url_patterns, route)
        elif isinstance(pattern, URLPattern):
            yield route


OPERATIONS = list(_operations())


class Home:
    """A team with a held lock, a session and a webhook that was tried out, and workers with every kind of key."""

    def __init__(self) -> None:
        self.team = found_team()
        self.owner = self.worker(self.team, "admin")
        self.session = self.owner.begin(ttl_seconds=300)
        self.held = self.owner.hold(LOCK, ttl_seconds=600, metadata="canary-metadata", holder="canary-holder")
        self.webhook = self.owner.register("https://canary.example/")["id"]
        self.delivery = self.owner.try_out(self.webhook)["id"]

    def worker(self, team: Team, *scopes: str, **more: Any) -> Keeper:
        return Keeper(issue(team, *scopes, name=f"key-{uuid4().hex[:8]}", **more))

    def ask(self, worker: Worker, operation: Operation) -> httpx.Response:
        """The operation on what is this team's, with its real capabilities."""
        ids = {"session_id": self.session, "webhook_id": self.webhook, "delivery_id": self.delivery}
        path = operation.path.format(name=LOCK, **ids)
        body = operation.body
        if isinstance(body, dict):
            body = {key: self.real(key, value) for key, value in body.items()}
        return worker.request(operation.method, path, json=body) if body is not None else _bare(worker, operation, path)

    def real(self, key: str, value: Any) -> Any:
        return {"lease_id": self.held["lease_id"], "fencing_token": self.held["fencing_token"]}.get(key, value)

    def as_it_was(self) -> tuple[Any, ...]:
        lock = self.owner.lock(LOCK)
        return (
            lock["fencing_token"],
            lock["expires_at"],
            lock.get("acl"),
            self.owner.session(self.session)["expires_at"],
            self.owner.get("/webhooks").json(),
            self.owner.deliveries(self.webhook),
        )


def _bare(worker: Worker, operation: Operation, path: str) -> httpx.Response:
    return worker.request(operation.method, path)


def _said(answer: httpx.Response) -> tuple[int, str]:
    return answer.status_code, VARYING.sub("…", answer.text)


@pytest.fixture
def home(database: str) -> Home:
    return Home()


def test_every_route_is_public_or_behind_a_key() -> None:
    served = {re.sub(r"<(?:\w+:)?(\w+)>", r"{\1}", f"/{route}") for route in _routes(get_resolver().url_patterns)}
    documented = set(openapi()["paths"])
    assert {path for path in served if not path.startswith(tuple(f"/{page}" for page in PAGES))} == documented
    public = {path for path in documented if not any(operation.path == path for operation in OPERATIONS)}
    assert all(path == "/" or path.startswith(("/elections", *SERVICE)) for path in public)


SERVICE = ("/health", "/ready", "/status", "/metrics", "/openapi", "/docs")


@pytest.mark.parametrize("operation", OPERATIONS, ids=str)
class TestEachOperation:
    def test_wants_a_key(self, home: Home, operation: Operation) -> None:
        before = home.as_it_was()
        answer = home.ask(Worker(None), operation)
        assert (answer.status_code, answer.json()["code"]) == (401, "authentication_required")
        assert home.as_it_was() == before

    @pytest.mark.parametrize("kind", ["unknown", "wrong secret", "malformed", "expired", "revoked"])
    def test_refuses_what_is_no_key_any_more(self, home: Home, operation: Operation, kind: str) -> None:
        before = home.as_it_was()
        key = issue(home.team, "admin", name="old")
        visible = key.split("_")[1]
        match kind:
            case "unknown":
                key = "osk_" + "0" * 12 + "_" + "A" * 43
            case "wrong secret":
                key = f"osk_{visible}_" + "A" * 43
            case "malformed":
                key = "secret"
            case "expired":
                ApiKey.objects.filter(visible=visible).update(expires_at=timezone.now() - timedelta(seconds=1))
            case "revoked":
                ApiKey.objects.filter(visible=visible).update(revoked_at=timezone.now())
        answer = home.ask(Worker(key), operation)
        assert (answer.status_code, answer.json()["code"]) == (401, "authentication_failed")
        assert home.as_it_was() == before

    def test_refuses_too_small_a_scope(self, home: Home, operation: Operation) -> None:
        before = home.as_it_was()
        scopes = ["read", "locks"] if operation.path.startswith("/webhooks") else ["webhooks"]
        answer = home.ask(home.worker(home.team, *scopes), operation)
        if operation.path == "/auth/token/rotate":
            # Every key may replace its own secret.
            assert answer.status_code == 200
        else:
            assert (answer.status_code, answer.json()["code"]) == (403, "forbidden")
        assert home.as_it_was() == before

    def test_answers_another_team_as_if_nothing_were_there(self, home: Home, operation: Operation) -> None:
        before = home.as_it_was()
        theirs = home.ask(home.worker(found_team(), "admin"), operation)
        # The same request by a team beside which nothing was ever stored under these names.
        absent = Operation(operation.method, operation.path.replace("{name}", "repo/issue-9999"), operation.body)
        alone = Home.__new__(Home)
        alone.session, alone.held = str(uuid4()), {"lease_id": str(uuid4()), "fencing_token": 1}
        alone.webhook, alone.delivery = str(uuid4()), str(uuid4())
        nothing = alone.ask(home.worker(found_team(), "admin"), absent)
        assert _said(theirs)[0] == _said(nothing)[0]
        assert _said(theirs)[1].replace(LOCK, "repo/issue-9999") == _said(nothing)[1]
        assert "canary" not in theirs.text
        assert home.as_it_was() == before

    def test_serves_the_right_key(self, home: Home, operation: Operation) -> None:
        answer = home.ask(home.owner, operation)
        assert answer.status_code < 300, answer.text
        if answer.content and answer.headers["Content-Type"] == "application/json":
            json.loads(answer.content)
