"""Secrets that must be read again are kept sealed: AES-256-GCM under a key derived from the server's.

A sealed text is `<id of the server key>.<URL-safe base64 of nonce and ciphertext>`. It opens for
the purpose it was sealed for alone, and under a predecessor of the current key too.
"""

from __future__ import annotations

import base64
from collections.abc import Sequence

from cryptography.exceptions import InvalidTag
from cryptography.hazmat.primitives.ciphers.aead import AESGCM

from octostore.lib.errors import Unavailable
from octostore.lib.secrets import ServerKey, encode, mint

NONCE_BYTES = 12


def seal(secret: str, *, keys: Sequence[ServerKey], bound_to: str) -> str:
    """`secret` sealed under the first of `keys`; `bound_to` names whose it is and must be said again to open it."""
    key, nonce = keys[0], mint(NONCE_BYTES)
    return f"{key.id}.{encode(nonce + _cipher(key).encrypt(nonce, secret.encode(), bound_to.encode()))}"


def unseal(sealed: str, *, keys: Sequence[ServerKey], bound_to: str) -> str:
    """What was sealed.

    Raises Unavailable when this process lacks the key, ValueError when the text was changed or
    belongs to something else.
    """
    key_id, _, text = sealed.partition(".")
    key = next((key for key in keys if key.id == key_id), None)
    if key is None:
        raise Unavailable("That secret was sealed under a server key which this process does not have")
    try:
        raw = base64.b64decode(text + "=" * (-len(text) % 4), altchars=b"-_", validate=True)
        return _cipher(key).decrypt(raw[:NONCE_BYTES], raw[NONCE_BYTES:], bound_to.encode()).decode()
    except (ValueError, InvalidTag):
        raise ValueError("the sealed text was changed, or was sealed for something else") from None


def _cipher(key: ServerKey) -> AESGCM:
    return AESGCM(key.derive("sealing"))
