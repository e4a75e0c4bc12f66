"""A strict client: every answer is checked for what the contract promises of every answer."""

from __future__ import annotations

import json
import math
import re
from collections.abc import Callable, Iterable
from typing import Any

import httpx

STATUSES = {
    "authentication_required": {401},
    "authentication_failed": {401},
    "forbidden": {403},
    "invalid_input": {400, 405, 408, 413, 415, 422, 431},
    "invalid_ttl": {400},
    "invalid_lock_name": {400},
    "not_found": {404},
    "session_expired": {410},
    "lease_not_current": {404},
    "conflict": {409},
    "lock_delayed": {409},
    "capacity_exceeded": {409},
    "lock_limit_exceeded": {403},
    "rate_limited": {429},
    "unavailable": {503},
}
# Where something else than JSON may be answered.
_OTHER_FORMATS = re.compile(r"/(docs|metrics|status|watch|openapi\.yaml)$|/static/")


def strict_json(content: bytes) -> Any:
    """Parse as the narrowest reader would: no NaN, no duplicate keys, sound UTF-8."""

    def unique(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
        members = dict(pairs)
        assert len(members) == len(pairs), f"duplicate keys in {content!r}"
        return members

    def refuse(constant: str) -> None:
        raise AssertionError(f"{constant} in {content!r}")

    return json.loads(content.decode("utf-8", "strict"), object_pairs_hook=unique, parse_constant=refuse)


def verify(response: httpx.Response) -> None:
    """Assert what holds for every answer, whatever was asked."""
    response.read()
    where = f"{response.request.method} {response.request.url}: {response.status_code} {response.text[:300]}"
    request_id = response.headers.get("X-Request-Id", "")
    assert re.fullmatch(r"req_[0-9a-f]{32}", request_id), f"X-Request-Id {request_id!r} in {where}"
    assert response.status_code < 500 or response.status_code == 503, where
    assert not response.is_redirect, where
    if response.request.method == "HEAD":
        assert response.content == b"", where
    elif response.status_code >= 400:
        _verify_envelope(response, request_id, where)
    elif response.content and not _OTHER_FORMATS.search(response.request.url.path):
        assert response.headers["Content-Type"].split(";")[0] == "application/json", where
        strict_json(response.content)


def _verify_envelope(response: httpx.Response, request_id: str, where: str) -> None:
    assert response.headers["Content-Type"].split(";")[0] == "application/json", where
    body = strict_json(response.content)
    assert isinstance(body.get("error"), str), where
    assert response.status_code in STATUSES[body["code"]], where
    assert body["request_id"] == request_id, where
    retry_after = response.headers.get("Retry-After")
    assert ("retry_after_ms" in body) == (retry_after is not None), f"Retry-After {retry_after!r} in {where}"
    if retry_after is not None:
        assert int(retry_after) == math.ceil(body["retry_after_ms"] / 1000), f"Retry-After {retry_after!r} in {where}"
    assert response.status_code not in {429, 503} or retry_after, f"no Retry-After in {where}"
    assert response.status_code != 405 or response.headers.get("Allow"), f"no Allow in {where}"


class Client(httpx.Client):
    """httpx with `verify` on every answer, and the verbs of a room as methods."""

    def __init__(self, base_url: str = "http://testserver", app: Callable[..., Iterable[bytes]] | None = None) -> None:
        super().__init__(
            base_url=base_url,
            transport=httpx.WSGITransport(app=app) if app else None,
            event_hooks={"response": [verify]},
            timeout=30,
            trust_env=False,
            # Plain HTTP only: reading the certificates would cost each client 20 ms.
            verify=False,
        )

    def create(self) -> str:
        room: str = self.post("/elections").json()["election_id"]
        return room

    def campaign(self, room: str, candidate_id: str, *, key: str | None = None, **body: Any) -> httpx.Response:
        headers = {"Idempotency-Key": key} if key else {}
        return self.post(f"/elections/{room}/campaign", json={"candidate_id": candidate_id, **body}, headers=headers)

    def renew(self, room: str, leader_token: str, **body: Any) -> httpx.Response:
        return self.post(f"/elections/{room}/renew", json={"leader_token": leader_token, **body})

    def resign(self, room: str, leader_token: str) -> httpx.Response:
        return self.post(f"/elections/{room}/resign", json={"leader_token": leader_token})

    def room(self, room: str) -> httpx.Response:
        return self.get(f"/elections/{room}")
