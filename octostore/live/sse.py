"""Frames of server-sent events, as bytes."""

from __future__ import annotations

from typing import Any, Literal

import msgspec

from octostore.leases.outcomes import Revision

Reason = Literal["max_age", "shutdown", "revoked"]
KEEPALIVE = b": keepalive\n\n"
RETRY_MS = 1000


class ByeFrame(msgspec.Struct, kw_only=True):
    """The data of `event: bye`, a stream's last: it was open for long, the server stops, or its key is over."""

    reason: Reason


def frame(kind: str | None, data: Any, *, position: Revision | None = None) -> bytes:
    """One event of `kind` (None: a plain message); `data` becomes one line of JSON, `position` its id."""
    head = (f"event: {kind}\n" if kind else "") + (f"id: {position}\n" if position else "")
    return b"%bdata: %b\n\n" % (head.encode(), msgspec.json.encode(data))


def opening(frames: bytes) -> bytes:
    """What a stream begins with: how soon to come back after a cut, then its first frames."""
    return b"retry: %d\n" % RETRY_MS + frames


def bye(reason: Reason) -> bytes:
    """The farewell of a stream that the server ends: come again, unless `reason` says otherwise."""
    return frame("bye", ByeFrame(reason=reason))
