"""What a lock may be called."""

from __future__ import annotations

import unicodedata

from octostore.lib.errors import InvalidLockName

NAME_MAX_BYTES = 256
PART_MAX_BYTES = 64
# The addresses of a lock's verbs end in these.
RESERVED = frozenset({"acquire", "renew", "release", "revoke", "watch", "acl", "history"})

RULE = (
    f"a lock's name has 1 to {NAME_MAX_BYTES} bytes of UTF-8, in parts of 1 to {PART_MAX_BYTES} bytes separated by /;"
    " letters and digits of any script, - _ and . ; no part is . or .. ; the last one is no verb"
)


def lock_name(text: str) -> str:
    """The name itself: not normalised, case-sensitive. Raises InvalidLockName, without echoing it."""
    parts = text.split("/")
    if (
        not 1 <= len(text.encode("utf-8", "surrogatepass")) <= NAME_MAX_BYTES
        or not all(_is_part(part) for part in parts)
        or parts[-1] in RESERVED
    ):
        raise InvalidLockName(RULE)
    return text


def lock_prefix(text: str) -> str:
    """The beginning of a name, down to nothing; every character but / is literal."""
    if len(text.encode("utf-8", "surrogatepass")) > NAME_MAX_BYTES or not all(map(_is_allowed, text.replace("/", ""))):
        raise InvalidLockName(f"prefix must be the beginning of a lock's name: {RULE}")
    return text


def _is_part(part: str) -> bool:
    return (
        1 <= len(part.encode("utf-8", "surrogatepass")) <= PART_MAX_BYTES
        and part not in {".", ".."}
        and all(map(_is_allowed, part))
    )


def _is_allowed(character: str) -> bool:
    return character in "-_." or unicodedata.category(character) in {"Lu", "Ll", "Lt", "Lm", "Lo", "Nd"}
