"""The rules of the inputs whose shape is already right; each raises the contract's error."""

from __future__ import annotations

import re
from datetime import timedelta

from django.conf import settings

from octostore.api.paging import limit
from octostore.lib import ids
from octostore.lib.errors import InvalidInput, InvalidTTL, NotFound

TERM_MAX = 2**53 - 1  # exact in JavaScript's numbers
HISTORY_MAX = 200
ACL_MAX_ENTRIES = 64
ACL_ENTRY_PATTERN = rf"key:[A-Za-z0-9]{{12}}|user:{ids.CANDIDATE_ID.pattern}"
REASON_MAX_CHARACTERS = 500

_UUID = re.compile(r"[0-9a-fA-F]{8}(?:-[0-9a-fA-F]{4}){3}-[0-9a-fA-F]{12}")
_ACL_ENTRY = re.compile(ACL_ENTRY_PATTERN)


def ttl(seconds: int | None) -> timedelta | None:
    low, high = settings.LOCK_TTL_MIN_SECONDS, settings.LOCK_TTL_MAX_SECONDS
    if seconds is None:
        return None
    if not low <= seconds <= high:
        raise InvalidTTL(f"ttl_seconds must be from {low} to {high}")
    return timedelta(seconds=seconds)


def default_ttl() -> timedelta:
    return timedelta(seconds=settings.LOCK_TTL_DEFAULT_SECONDS)


def session_ttl(seconds: int | None) -> timedelta:
    """Clamped, not refused: a session asks for as long as it may have."""
    low, high = settings.SESSION_TTL_MIN_SECONDS, settings.SESSION_TTL_MAX_SECONDS
    wanted = settings.SESSION_TTL_DEFAULT_SECONDS if seconds is None else seconds
    return timedelta(seconds=min(max(wanted, low), high))


def delay(field: str, seconds: int | None) -> timedelta:
    return _seconds(field, seconds, high=settings.LOCK_DELAY_MAX_SECONDS)


def wait(seconds: int | None) -> timedelta:
    return _seconds("wait_seconds", seconds, high=settings.WAIT_MAX_SECONDS)


def metadata(text: str | None) -> str | None:
    if text is not None and len(text) > settings.METADATA_MAX_CHARACTERS:
        raise InvalidInput(f"metadata must have at most {settings.METADATA_MAX_CHARACTERS} characters")
    return text


def holder(text: str | None) -> str:
    if text is not None and not ids.is_candidate_id(text):
        raise InvalidInput(f"holder must be {ids.CANDIDATE_ID_RULE}")
    return text or ""


def lease_id(text: str, *, field: str = "lease_id") -> str:
    return _uuid(field, text)


def session_id(text: str) -> str:
    return _uuid("session_id", text)


def known_session(text: str) -> str:
    """The id in a session's address, as the rows have it. Raises NotFound for what can be no session's."""
    if not _UUID.fullmatch(text):
        raise NotFound
    return text.lower()


def attempt(text: str | None) -> str | None:
    if text is not None and not ids.is_idempotency_key(text):
        raise InvalidInput(f"Idempotency-Key must be {ids.IDEMPOTENCY_KEY_RULE}")
    return text


def acl(entries: list[str] | None) -> tuple[str, ...] | None:
    if entries is None:
        return None
    if not 1 <= len(entries) <= ACL_MAX_ENTRIES or not all(_ACL_ENTRY.fullmatch(entry) for entry in entries):
        raise InvalidInput(
            f"acl.acquire must list 1 to {ACL_MAX_ENTRIES} entries, each key:<visible part> or user:<key name>"
        )
    return tuple(sorted(set(entries)))


def reason(text: str) -> str:
    if not 1 <= len(text.strip()) <= REASON_MAX_CHARACTERS:
        raise InvalidInput(f"reason must have 1 to {REASON_MAX_CHARACTERS} characters")
    return text.strip()


def fencing_token(number: int) -> int:
    if not 1 <= number <= TERM_MAX:
        raise InvalidInput(f"fencing_token must be from 1 to {TERM_MAX}")
    return number


def history_limit(text: str | None) -> int:
    return min(limit(text, default=HISTORY_MAX, high=HISTORY_MAX), settings.TERMS_KEPT)


def _seconds(field: str, seconds: int | None, *, high: int) -> timedelta:
    if seconds is not None and not 0 <= seconds <= high:
        raise InvalidInput(f"{field} must be from 0 to {high}")
    return timedelta(seconds=seconds or 0)


def _uuid(field: str, text: str) -> str:
    """A UUID as it was given out, whichever case a client writes it in."""
    if not _UUID.fullmatch(text):
        raise InvalidInput(f"{field} must be a UUID")
    return text.lower()
