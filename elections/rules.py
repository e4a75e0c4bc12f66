"""The rules of the inputs whose shape is already right; each raises the contract's error."""

from __future__ import annotations

from datetime import timedelta

from django.conf import settings

from octostore.lib import ids
from octostore.lib.errors import InvalidInput, InvalidTTL

TERM_MAX = 2**53 - 1  # exact in JavaScript's numbers
TERMS_DEFAULT = 50
TERMS_MAX = 200


def election_id(text: str) -> str:
    if not ids.is_election_id(text):
        raise InvalidInput(f"election_id must be {ids.ELECTION_ID_RULE}")
    return text


def candidate_id(text: str) -> str:
    if not ids.is_candidate_id(text):
        raise InvalidInput(f"candidate_id must be {ids.CANDIDATE_ID_RULE}")
    return text


def ttl(seconds: int | None) -> timedelta | None:
    low, high = settings.ELECTION_TTL_MIN_SECONDS, settings.ELECTION_TTL_MAX_SECONDS
    if seconds is None:
        return None
    if not low <= seconds <= high:
        raise InvalidTTL(f"ttl_seconds must be from {low} to {high}")
    return timedelta(seconds=seconds)


def default_ttl() -> timedelta:
    return timedelta(seconds=settings.ELECTION_TTL_DEFAULT_SECONDS)


def wait(seconds: int | None) -> timedelta:
    if seconds is None:
        return timedelta(0)
    if not 0 <= seconds <= settings.WAIT_MAX_SECONDS:
        raise InvalidInput(f"wait_seconds must be from 0 to {settings.WAIT_MAX_SECONDS}")
    return timedelta(seconds=seconds)


def metadata(text: str | None) -> str | None:
    if text is not None and len(text) > settings.METADATA_MAX_CHARACTERS:
        raise InvalidInput(f"metadata must have at most {settings.METADATA_MAX_CHARACTERS} characters")
    return text


def capability(text: str) -> str:
    if not ids.is_capability(text):
        raise InvalidInput(f"leader_token must be {ids.CAPABILITY_RULE}")
    return text


def attempt(text: str | None) -> str | None:
    if text is not None and not ids.is_idempotency_key(text):
        raise InvalidInput(f"Idempotency-Key must be {ids.IDEMPOTENCY_KEY_RULE}")
    return text


def term(text: str) -> int:
    return _whole("term", text, high=TERM_MAX)


def limit(text: str | None) -> int:
    return TERMS_DEFAULT if text is None else _whole("limit", text, high=TERMS_MAX)


def _whole(field: str, text: str, *, high: int) -> int:
    """A plain decimal number; no sign, no space, none of the digits that only Unicode calls so."""
    if not (text.isascii() and text.isdecimal() and len(text) <= 16 and 1 <= int(text) <= high):
        raise InvalidInput(f"{field} must be a whole number from 1 to {high}")
    return int(text)
