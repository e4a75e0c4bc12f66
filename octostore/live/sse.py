"""Frames of server-sent events, as bytes."""

from __future__ import annotations

from typing import Any

import msgspec

from octostore.leases.outcomes import Revision

KEEPALIVE = b": keepalive\n\n"
RETRY_MS = 1000


def frame(kind: str, data: Any, *, position: Revision | None = None) -> bytes:
    """One event; `data` becomes one line of JSON, `position` its id."""
    identity = f"id: {position}\n" if position else ""
    return b"event: %b\n%bdata: %b\n\n" % (kind.encode(), identity.encode(), msgspec.json.encode(data))


def opening(frames: bytes) -> bytes:
    """What a stream begins with: how soon to come back after a cut, then its first frames."""
    return b"retry: %d\n" % RETRY_MS + frames


def bye(reason: str) -> bytes:
    """The farewell of a stream that the server ends: come again, unless `reason` says otherwise."""
    return frame("bye", {"reason": reason})
