"""A caller with an API key: a team of its own, a lock, a session and a webhook, and all that goes wrong with them."""

from __future__ import annotations

from contextlib import ExitStack
from typing import Any, Self
from uuid import uuid4

import httpx

from tests.contract.document import DOCUMENT, OPERATIONS
from tests.locks.cast import UNKNOWN_LEASE, expire_session, found_team, issue
from tests.processes import Web
from tests.webhooks.cast import UNKNOWN, URL, Keeper

KEYED = frozenset(
    operation["operationId"]
    for methods in DOCUMENT["paths"].values()
    for operation in methods.values()
    if {"apiKey": []} in operation["security"]
)
UNKNOWN_KEY = "osk_" + "0" * 12 + "_" + "A" * 43
ACL = {"acl": {"acquire": ["user:ci"]}}
WITH_BODY = {"POST", "PUT", "PATCH"}


class Cast:
    """An admin of a fresh team, asking one operation on a lock, a session and a webhook of its own."""

    def __init__(self, web: Web, operation_id: str, *scopes: str) -> None:
        team = found_team()
        self._web, self._clients = web, ExitStack()
        self.admin = self.use(issue(team, "admin"))
        if scopes:
            self.use(issue(team, *scopes))
        self.method, self.path, _ = OPERATIONS[operation_id]
        self.operation_id = operation_id
        self.lock = f"lock-{uuid4().hex}"
        self.session, self.webhook, self.delivery = UNKNOWN_LEASE, UNKNOWN, UNKNOWN
        self.headers: dict[str, str] = {}

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self._clients.close()

    def use(self, key: str | None) -> Keeper:
        """From now on ask with this key."""
        self.worker = self._clients.enter_context(Keeper(key, base_url=self._web.url))
        return self.worker

    def ask(self, **more: Any) -> httpx.Response:
        method = more.pop("method", self.method)
        if method in WITH_BODY and not {"json", "content"} & more.keys():
            more["json"] = self.body()
        ids = {"session_id": self.session, "webhook_id": self.webhook, "delivery_id": self.delivery}
        path = more.pop("path", self.path).format(name=self.lock, **ids)
        return self.worker.request(method, path, headers=self.headers | more.pop("headers", {}), **more)

    def body(self) -> dict[str, Any]:
        match self.operation_id:
            case "renew_lock" | "release_lock":
                return {"lease_id": self.admin.hold(self.lock)["lease_id"]}
            case "revoke_lock":
                return {"fencing_token": self.admin.hold(self.lock)["fencing_token"], "reason": "it hangs"}
        return stand_in(self.operation_id)

    def keep_webhook(self) -> None:
        """Ask about a webhook that is there, and a delivery of it."""
        self.webhook = self.admin.register()["id"]
        self.delivery = self.admin.try_out(self.webhook)["id"]


def success(web: Web, operation_id: str) -> httpx.Response:
    with Cast(web, operation_id) as cast:
        if "{session_id}" in cast.path:
            cast.session = cast.admin.begin()
        if "{webhook_id}" in cast.path:
            cast.keep_webhook()
        return cast.ask()


def bad_path_or_body(web: Web, operation_id: str) -> httpx.Response:
    with Cast(web, operation_id) as cast:
        if "{name}" in cast.path:
            cast.lock = "a%20b"
            return cast.ask(json=stand_in(operation_id)) if cast.method in WITH_BODY else cast.ask()
        if cast.method == "GET":
            return cast.ask(params={"limit": "0"})
        return cast.ask(content=b"{", headers={"Content-Type": "application/json"})


def without_key(web: Web, operation_id: str) -> httpx.Response:
    with Cast(web, operation_id) as cast:
        cast.use(None)
        return cast.ask(json=stand_in(operation_id)) if cast.method in WITH_BODY else cast.ask()


def too_small_a_scope(web: Web, operation_id: str) -> httpx.Response:
    scope = "locks" if OPERATIONS[operation_id][1].startswith("/webhooks") else "webhooks"
    with Cast(web, operation_id, scope) as cast:
        return cast.ask(json=stand_in(operation_id)) if cast.method in WITH_BODY else cast.ask()


def nothing_there(web: Web, operation_id: str) -> httpx.Response:
    """A session, a lease or a webhook that is nobody's."""
    with Cast(web, operation_id) as cast:
        if "acl" in operation_id:
            cast.headers["X-Lease-Id"] = UNKNOWN_LEASE
        if operation_id == "acquire_lock":
            return cast.ask(json={"session_id": UNKNOWN_LEASE})
        return cast.ask(json=stand_in(operation_id)) if cast.method in WITH_BODY else cast.ask()


def conflict(web: Web, operation_id: str) -> httpx.Response:
    with Cast(web, operation_id) as cast:
        if operation_id == "revoke_lock":
            return cast.ask(json={"fencing_token": 1, "reason": "it hangs"})
        if operation_id == "create_webhook":
            while (answer := cast.ask()).status_code == 201:
                pass
            return answer
        if "{webhook_id}" in cast.path:
            cast.keep_webhook()
            cast.admin.change(cast.webhook, active=False)
            return cast.ask()
        cast.headers["Idempotency-Key"] = uuid4().hex
        cast.ask(json={"ttl_seconds": 60})
        return cast.ask(json={"ttl_seconds": 61})


def dead_session(web: Web, operation_id: str) -> httpx.Response:
    with Cast(web, operation_id) as cast:
        cast.session = cast.admin.begin()
        expire_session(cast.session)
        return cast.ask(json={"session_id": cast.session}) if operation_id == "acquire_lock" else cast.ask()


def guessing(web: Web, operation_id: str) -> httpx.Response:
    """Wrong keys until their budget is used up."""
    with Cast(web, operation_id) as cast:
        cast.use(UNKNOWN_KEY)
        body: dict[str, Any] = {"json": stand_in(operation_id)} if cast.method in WITH_BODY else {}
        for _ in range(3):
            answer = cast.ask(**body)
            if answer.status_code == 429:
                break
        return answer


def malformed(web: Web, operation_id: str, **body: Any) -> httpx.Response:
    with Cast(web, operation_id) as cast:
        return cast.ask(**body)


def as_nobody(web: Web, operation_id: str) -> httpx.Response:
    """With a key that no team has, so that nothing need be stored for asking."""
    method, path, _ = OPERATIONS[operation_id]
    with Keeper(UNKNOWN_KEY, base_url=web.url) as worker:
        body: dict[str, Any] = {"json": stand_in(operation_id)} if method in WITH_BODY else {}
        ids = {"session_id": UNKNOWN_LEASE, "webhook_id": UNKNOWN, "delivery_id": UNKNOWN}
        return worker.request(method, path.format(name="lock", **ids), **body)


def stand_in(operation_id: str) -> dict[str, Any]:
    """A body of the right shape, about nothing that is there."""
    match operation_id:
        case "renew_lock" | "release_lock":
            return {"lease_id": UNKNOWN_LEASE}
        case "revoke_lock":
            return {"fencing_token": 1, "reason": "it hangs"}
        case "set_lock_acl":
            return ACL
        case "create_webhook":
            return {"url": URL}
        case "recover_webhook":
            return {"since": "2026-01-01T00:00:00Z"}
    return {}
