"""The rules of the inputs whose shape is already right; each raises the contract's error."""

from __future__ import annotations

from datetime import UTC, datetime

from django.utils import timezone

from octostore.lib.errors import InvalidInput
from webhooks import messages, signing
from webhooks.models import Delivery

PATTERN_MAX_BYTES = 257


def events(asked: list[str] | None) -> list[str] | None:
    known = (*messages.KINDS, messages.EVERY)
    if asked is not None and (not asked or not set(asked) <= set(known)):
        raise InvalidInput(f"events must list one or more of {' '.join(known)}")
    return asked


def lock_pattern(text: str | None) -> str | None:
    if text is None:
        return None
    size = len(text.encode("utf-8", "surrogatepass"))
    if not 1 <= size <= PATTERN_MAX_BYTES or messages.EVERY in text[:-1] or not text.isprintable():
        raise InvalidInput("lock_pattern must be a lock's name, the beginning of names and a star, or a star alone")
    return text


def secret(text: str | None) -> str | None:
    if text is not None and not signing.is_secret(text):
        raise InvalidInput(f"secret must be {signing.SECRET_RULE}")
    return text


def since(text: str) -> datetime:
    try:
        instant = datetime.fromisoformat(text)
        # A year near the first or the last may have no such instant in UTC.
        known = instant.astimezone(UTC) if instant.tzinfo else None
    except (ValueError, OverflowError):
        known = None
    if known is None or known > timezone.now():
        raise InvalidInput("since must be a past instant in RFC 3339, like 2026-12-01T22:10:20Z")
    return known


def state(text: str | None) -> str | None:
    if text is not None and text not in Delivery.State.values:
        raise InvalidInput(f"state must be one of {' '.join(Delivery.State.values)}")
    return text
