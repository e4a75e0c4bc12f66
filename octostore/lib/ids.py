"""Public identifiers, and the rules names obey."""

from __future__ import annotations

import re
import uuid

from octostore.lib import secrets

ELECTION_ID_RULE = "8 to 64 characters of A-Z a-z 0-9 _ -"
CANDIDATE_ID_RULE = "1 to 64 characters of A-Z a-z 0-9 . _ : @ -"
IDEMPOTENCY_KEY_RULE = "16 to 255 visible ASCII characters"
CAPABILITY_RULE = "43 characters of URL-safe base64"

ELECTION_ID = re.compile(r"[A-Za-z0-9_-]{8,64}")
CANDIDATE_ID = re.compile(r"[A-Za-z0-9._:@-]{1,64}")
IDEMPOTENCY_KEY = re.compile(r"[\x21-\x7e]{16,255}")
CAPABILITY = re.compile(r"[A-Za-z0-9_-]{43}")


def mint_election_id() -> str:
    """24 random bytes as 32 URL-safe base64 characters."""
    return secrets.encode(secrets.mint(24))


def mint_request_id() -> str:
    """`req_` and 32 lower-case hex digits."""
    return "req_" + uuid.uuid4().hex


def is_election_id(text: str) -> bool:
    return ELECTION_ID.fullmatch(text) is not None


def is_candidate_id(text: str) -> bool:
    return CANDIDATE_ID.fullmatch(text) is not None


def is_idempotency_key(text: str) -> bool:
    return IDEMPOTENCY_KEY.fullmatch(text) is not None


def is_capability(text: str) -> bool:
    return CAPABILITY.fullmatch(text) is not None
