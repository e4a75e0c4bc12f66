"""What a lock may be called."""

from __future__ import annotations

import unicodedata

from octostore.lib.errors import InvalidInput, InvalidLockName

NAME_MAX_BYTES = 256
PART_MAX_BYTES = 64
# The addresses of a lock's verbs end in these.
RESERVED = frozenset({"acquire", "renew", "release", "revoke", "watch", "acl", "history"})

RULE = (
    f"a lock's name has 1 to {NAME_MAX_BYTES} bytes of UTF-8, in parts of 1 to {PART_MAX_BYTES} bytes separated by /;"
    " letters and digits of any script, - _ and . ; no part is . or .. ; the last one is none of "
    + " ".join(sorted(RESERVED))
)

_LETTERS_AND_DIGITS = {"Lu", "Ll", "Lt", "Lm", "Lo", "Nd"}


def lock_name(text: str) -> str:
    """The name itself: not normalised, case-sensitive. Raises InvalidLockName, without echoing it."""
    parts = text.split("/")
    if _size(text) > NAME_MAX_BYTES or not all(map(_is_part, parts)) or parts[-1] in RESERVED:
        raise InvalidLockName(RULE)
    return text


def lock_prefix(text: str | None) -> str:
    """The beginning of names, down to nothing; every character stands for itself. Raises InvalidInput."""
    if text is None:
        return ""
    if _size(text) > NAME_MAX_BYTES or not all(character.isprintable() for character in text):
        raise InvalidInput(f"prefix must have at most {NAME_MAX_BYTES} bytes of UTF-8, all printable")
    return text


def _is_part(part: str) -> bool:
    return 1 <= _size(part) <= PART_MAX_BYTES and part not in {".", ".."} and all(map(_is_allowed, part))


def _is_allowed(character: str) -> bool:
    return character in "-_." or unicodedata.category(character) in _LETTERS_AND_DIGITS


def _size(text: str) -> int:
    return len(text.encode("utf-8", "surrogatepass"))
