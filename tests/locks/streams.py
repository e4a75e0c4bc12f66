"""Reading a stream of server-sent events, frame by frame."""

from __future__ import annotations

import json
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any, NamedTuple

import httpx

from tests.locks.cast import Worker, address

PATIENCE_SECONDS = 10


class Frame(NamedTuple):
    """One event; `data` as JSON says it."""

    kind: str | None
    id: str | None
    data: dict[str, Any]


def frames(lines: Iterator[str]) -> Iterator[Frame]:
    """The events of a stream; comments and `retry` are passed over."""
    fields: dict[str, str] = {}
    for line in lines:
        if line and not line.startswith(":"):
            name, _, value = line.partition(": ")
            fields[name] = value
        elif "data" in fields:
            yield Frame(fields.get("event"), fields.get("id"), json.loads(fields["data"]))
            fields = {}


@contextmanager
def watching(worker: Worker, lock: str, last_event_id: str | None = None) -> Iterator[Iterator[Frame]]:
    """The lock's stream, open while the block lasts; a frame that does not come fails the test."""
    headers = {"Authorization": worker.headers["Authorization"]}
    if last_event_id is not None:
        headers["Last-Event-ID"] = last_event_id
    url = f"{str(worker.base_url).rstrip('/')}{address(lock)}/watch"
    with (
        httpx.Client(trust_env=False, verify=False, timeout=PATIENCE_SECONDS) as client,
        client.stream("GET", url, headers=headers) as answer,
    ):
        assert answer.status_code == 200, answer.read()
        assert answer.headers["Content-Type"] == "text/event-stream"
        assert answer.headers["Cache-Control"] == "no-cache, no-transform"
        assert answer.headers["X-Accel-Buffering"] == "no"
        yield frames(answer.iter_lines())
