"""How to make each operation give each answer that the OpenAPI document tells of."""

from __future__ import annotations

import http.client
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any
from uuid import uuid4

import httpx

from tests.contract import keyed
from tests.contract.document import DOCUMENT, OPERATIONS
from tests.http import Client, verify
from tests.processes import Web

WRONG = "x" * 43
TOO_MANY_BYTES = b'{"metadata": "' + b"x" * 66_000 + b'"}'


@dataclass(frozen=True, kw_only=True)
class Stage:
    """Web processes under the settings that the answers need."""

    # As shipped, but for short waits.
    open: Web
    # Elections switched off, metrics behind a credential.
    closed: Web
    # Every budget and limit at its smallest.
    tight: Web


def ask(web: Web, operation_id: str, **more: Any) -> httpx.Response:
    """The operation on a room or lock of its own, as a caller who does everything right; `more` changes that."""
    if operation_id in keyed.KEYED:
        return keyed.malformed(web, operation_id, **more)
    room = more.pop("room", f"room-{uuid4().hex}")
    with web.client() as client:
        method, path, _ = OPERATIONS[operation_id]
        method = more.pop("method", method)
        if method == "POST" and not {"json", "content"} & more.keys():
            more["json"] = _right_body(client, operation_id, room)
        return client.request(method, path.format(election_id=room, term=1), **more)


def _right_body(client: Client, operation_id: str, room: str) -> dict[str, Any]:
    match operation_id:
        case "campaign":
            return {"candidate_id": "atlas"}
        case "renew" | "resign":
            return {"leader_token": client.campaign(room, "atlas").json()["leader_token"]}
    return {}


def _success(stage: Stage, operation_id: str) -> httpx.Response:
    if operation_id in keyed.KEYED:
        return keyed.success(stage.open, operation_id)
    return ask(stage.open, operation_id)


def _bad_path_or_body(stage: Stage, operation_id: str) -> httpx.Response:
    if operation_id in keyed.KEYED:
        return keyed.bad_path_or_body(stage.open, operation_id)
    if "{election_id}" in OPERATIONS[operation_id][1]:
        return ask(stage.open, operation_id, room="short", **stand_in(operation_id))
    return ask(stage.open, operation_id, content=b"{", headers={"Content-Type": "application/json"})


def _without_credential(stage: Stage, operation_id: str) -> httpx.Response:
    if operation_id in keyed.KEYED:
        return keyed.without_key(stage.open, operation_id)
    return _off(stage, operation_id)


def _off(stage: Stage, operation_id: str) -> httpx.Response:
    if operation_id in keyed.KEYED:
        return keyed.too_small_a_scope(stage.open, operation_id)
    return ask(stage.closed, operation_id, **stand_in(operation_id))


def _wrong_capability(stage: Stage, operation_id: str) -> httpx.Response:
    if operation_id in keyed.KEYED:
        return keyed.nothing_there(stage.open, operation_id)
    return ask(stage.open, operation_id, json={"leader_token": WRONG})


def _wrong_method(stage: Stage, operation_id: str) -> httpx.Response:
    answered = DOCUMENT["paths"][OPERATIONS[operation_id][1]]
    return ask(stage.open, operation_id, method="PUT" if "patch" in answered else "PATCH")


def _withheld_body(stage: Stage, operation_id: str) -> httpx.Response:
    method, path, _ = OPERATIONS[operation_id]
    ids = dict.fromkeys(("session_id", "webhook_id", "delivery_id"), uuid4())
    path = path.format(election_id=f"room-{uuid4().hex}", term=1, name="lock", **ids)
    connection = http.client.HTTPConnection("127.0.0.1", stage.open.port, timeout=10)
    try:
        connection.putrequest(method, path)
        connection.putheader("Content-Type", "application/json")
        connection.putheader("Content-Length", "20")
        connection.endheaders(b"{")
        raw = connection.getresponse()
        request = httpx.Request(method, f"{stage.open.url}{path}")
        answer = httpx.Response(raw.status, headers=raw.getheaders(), content=raw.read(), request=request)
    finally:
        connection.close()
    verify(answer)
    return answer


def _same_key_other_content(stage: Stage, operation_id: str) -> httpx.Response:
    if operation_id in keyed.KEYED:
        return keyed.conflict(stage.open, operation_id)
    room, key = f"room-{uuid4().hex}", {"Idempotency-Key": uuid4().hex}
    ask(stage.open, operation_id, room=room, headers=key)
    return ask(stage.open, operation_id, room=room, headers=key, json={"candidate_id": "borea"})


def _too_large(stage: Stage, operation_id: str) -> httpx.Response:
    headers = {"Content-Type": "application/json"}
    return ask(stage.open, operation_id, content=TOO_MANY_BYTES, headers=headers)


def _other_media_type(stage: Stage, operation_id: str) -> httpx.Response:
    return ask(stage.open, operation_id, content=b"x", headers={"Content-Type": "text/plain"})


def _wrong_shape(stage: Stage, operation_id: str) -> httpx.Response:
    return ask(stage.open, operation_id, json=[])


def _dead_session(stage: Stage, operation_id: str) -> httpx.Response:
    return keyed.dead_session(stage.open, operation_id)


def _too_large_headers(stage: Stage, operation_id: str) -> httpx.Response:
    return ask(stage.open, operation_id, headers={"X-Padding": "x" * 32_768})


def _over_the_limit(stage: Stage, operation_id: str) -> httpx.Response:
    if operation_id in keyed.KEYED:
        return keyed.guessing(stage.tight, operation_id)
    for _ in range(3):
        answer = ask(stage.tight, operation_id, **stand_in(operation_id))
        if answer.status_code == 429:
            break
    return answer


def stand_in(operation_id: str) -> dict[str, Any]:
    """For where no room can be led: a capability of the right form."""
    return {"json": {"leader_token": WRONG}} if operation_id in {"renew", "resign"} else {}


# 500 is a bug, which nobody can ask for: tests/api/test_errors.py raises one behind a door of its own.
# 503 is asked of all operations at once, in test_statuses.
PROVOCATIONS: dict[int, Callable[[Stage, str], httpx.Response]] = {
    200: _success,
    201: _success,
    202: _success,
    204: _success,
    400: _bad_path_or_body,
    401: _without_credential,
    403: _off,
    404: _wrong_capability,
    405: _wrong_method,
    408: _withheld_body,
    409: _same_key_other_content,
    410: _dead_session,
    413: _too_large,
    415: _other_media_type,
    422: _wrong_shape,
    429: _over_the_limit,
    431: _too_large_headers,
}
