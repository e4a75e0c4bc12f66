"""Where a walk goes on: a position that only this service can have written, for one walk of one team."""

from __future__ import annotations

import base64
from collections.abc import Callable, Sequence
from typing import TypeVar

from django.conf import settings

from octostore.lib import secrets
from octostore.lib.errors import InvalidInput
from octostore.lib.secrets import ServerKey

MAC_BYTES = 16

Item = TypeVar("Item")


def seal(walk: str, position: str) -> str:
    """The cursor of a position within `walk`, as URL-safe base64."""
    text = position.encode("utf-8")
    return secrets.encode(_mac(settings.SERVER_KEYS[0], walk, text) + text)


def cut(
    walk: str, found: Sequence[Item], size: int, position: Callable[[Item], object]
) -> tuple[list[Item], str | None]:
    """The first `size` of what was found, and the cursor at which the rest begins; None where there is no rest.

    Whoever walks asks for one more than is shown. `position` is where an item stands in the walk.
    """
    shown = list(found[:size])
    return shown, seal(walk, str(position(shown[-1]))) if len(found) > size else None


def unseal(walk: str, cursor: str | None) -> str | None:
    """The position within `walk`; None without a cursor. Raises InvalidInput when it was not sealed for it."""
    if cursor is None:
        return None
    try:
        raw = base64.b64decode(cursor + "=" * (-len(cursor) % 4), altchars=b"-_", validate=True)
    except ValueError:
        raw = b""
    mac, text = raw[:MAC_BYTES], raw[MAC_BYTES:]
    is_sealed = any(secrets.same(_mac(key, walk, text), mac) for key in settings.SERVER_KEYS)
    # The last character may hold bits that stand for nothing: written otherwise it is another cursor.
    if not is_sealed or secrets.encode(raw) != cursor:
        raise InvalidInput("cursor must be the next_cursor of an earlier answer to the same list")
    return text.decode("utf-8")


def _mac(key: ServerKey, walk: str, text: bytes) -> bytes:
    return key.derive("cursor", walk.encode("utf-8"), text)[:MAC_BYTES]
