"""Making, deriving, digesting and comparing secrets.

A capability is HMAC-SHA256 under a server key over the grant's nonce and the lease's name: the
database keeps nonce, key id and the capability's digest, so the database alone cannot produce
one while a replay can (guarantees, G10).
"""

from __future__ import annotations

import base64
import hashlib
import hmac
import re
import secrets
from dataclasses import dataclass

NONCE_BYTES = 32

_KEY_TEXT = re.compile("[A-Za-z0-9_-]{43,}={0,2}")


def encode(raw: bytes) -> str:
    """URL-safe base64 without padding: 32 bytes give 43 characters, 24 give 32."""
    return base64.urlsafe_b64encode(raw).rstrip(b"=").decode("ascii")


def mint(size: int) -> bytes:
    """`size` random bytes from the operating system."""
    return secrets.token_bytes(size)


def digest(kind: str, *parts: str) -> bytes:
    """SHA-256 over a kind and its parts, each length-prefixed so that no two lists collide."""
    sha = hashlib.sha256()
    for part in (kind, *parts):
        raw = part.encode("utf-8")
        sha.update(len(raw).to_bytes(8, "big") + raw)
    return sha.digest()


def same(left: bytes, right: bytes) -> bool:
    """Whether two digests are equal, in time that does not depend on where they differ."""
    return hmac.compare_digest(left, right)


@dataclass(frozen=True, slots=True)
class ServerKey:
    """One key of the service. `id` is public and names the key in rows; `secret` is not."""

    id: str
    secret: bytes

    @classmethod
    def from_text(cls, text: str) -> ServerKey:
        """From 43 or more characters of URL-safe base64; ValueError, which does not repeat them, where they are not."""
        text = text.strip()
        try:
            if not _KEY_TEXT.fullmatch(text):
                raise ValueError
            secret = base64.urlsafe_b64decode(text + "=" * (-len(text) % 4))
        except ValueError:
            raise ValueError("a server key is 43 or more characters of URL-safe base64") from None
        return cls(id=hashlib.sha256(b"octostore server key id" + secret).hexdigest()[:16], secret=secret)

    def __repr__(self) -> str:
        return f"ServerKey(id={self.id!r})"

    def derive(self, purpose: str, *parts: bytes) -> bytes:
        """32 bytes for one purpose: HMAC-SHA256 over length-prefixed purpose and parts."""
        mac = hmac.new(self.secret, digestmod=hashlib.sha256)
        for part in (purpose.encode("utf-8"), *parts):
            mac.update(len(part).to_bytes(8, "big") + part)
        return mac.digest()
