"""The one answer that Django cannot make, since there is no request to give it."""

from __future__ import annotations

from http import HTTPStatus

import msgspec
import structlog

from octostore.api import metrics, request_id
from octostore.api.errors import envelope
from octostore.lib.errors import InvalidInput
from octostore.lib.ids import mint_request_id


def refusal(status: HTTPStatus, why: str, method: str, seconds: float) -> bytes:
    """The whole response to what is no sound request; it leaves its line in the log and is counted like any other."""
    identifier = mint_request_id()
    error = InvalidInput(f"not a sound HTTP/1.1 request: {why or status.phrase.lower()}", status=status.value)
    body = msgspec.json.encode(envelope(error, identifier))
    with structlog.contextvars.bound_contextvars(request_id=identifier):
        request_id.log_request(method, request_id.UNMATCHED, status.value, seconds)
    metrics.count(method, request_id.UNMATCHED, status.value, seconds)
    head = (
        f"HTTP/1.1 {status.value} {status.phrase}\r\n"
        "content-type: application/json\r\n"
        f"content-length: {len(body)}\r\n"
        f"x-request-id: {identifier}\r\n"
        "x-content-type-options: nosniff\r\n"
        "cache-control: no-store\r\n"
        "connection: close\r\n\r\n"
    )
    return head.encode() + (b"" if method == "HEAD" else body)
