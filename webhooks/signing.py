"""Signing as the Standard Webhooks specification says (https://www.standardwebhooks.com, v1 symmetric).

A signing secret is written `whsec_` and the base64 of 24 to 64 bytes. What is signed is
`<message id>.<seconds of the attempt>.<body>`.
"""

from __future__ import annotations

import base64
from collections.abc import Sequence
from datetime import UTC, datetime

from standardwebhooks import Webhook

from octostore.lib.secrets import mint

PREFIX = "whsec_"
SECRET_RULE = "whsec_ and the base64 of 24 to 64 bytes"
SECRET_BYTES_MIN, SECRET_BYTES_MAX = 24, 64
MINTED_BYTES = 32


def mint_secret() -> str:
    """A fresh signing secret of 32 random bytes."""
    return PREFIX + base64.b64encode(mint(MINTED_BYTES)).decode("ascii")


def is_secret(text: str) -> bool:
    """Whether `text` is a signing secret, written the one way which every verifier reads alike."""
    if not text.startswith(PREFIX) or not text.isascii():
        return False
    try:
        raw = base64.b64decode(text.removeprefix(PREFIX), validate=True)
    except ValueError:
        return False
    return SECRET_BYTES_MIN <= len(raw) <= SECRET_BYTES_MAX and PREFIX + base64.b64encode(raw).decode("ascii") == text


def sign(secrets: Sequence[str], *, message_id: str, at: datetime, body: bytes) -> str:
    """The value of `webhook-signature`: one `v1,` signature for each secret, separated by spaces.

    `at` is the instant of the attempt, aware; `body` is UTF-8. Raises ValueError where they are not,
    where there is no secret, and for a message id with a dot, which would make two messages sign alike.
    """
    if at.tzinfo is None:
        raise ValueError("an attempt is signed with an aware instant")
    if not secrets or not all(map(is_secret, secrets)):
        raise ValueError(f"signing takes one or more secrets of {SECRET_RULE}")
    if not message_id or "." in message_id:
        raise ValueError("a message id is not empty and has no dot")
    instant, text = at.astimezone(UTC), body.decode("utf-8")
    return " ".join(Webhook(secret).sign(message_id, instant, text) for secret in secrets)


def signed_headers(secrets: Sequence[str], *, message_id: str, at: datetime, body: bytes) -> dict[str, str]:
    """The three headers of one attempt; `message_id` is the same on every attempt, `at` never is."""
    return {
        "webhook-id": message_id,
        "webhook-timestamp": str(int(at.timestamp())),
        "webhook-signature": sign(secrets, message_id=message_id, at=at, body=body),
    }
