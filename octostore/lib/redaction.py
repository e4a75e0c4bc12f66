"""What never enters a log line: capabilities, keys, passwords, and what customers wrote (guarantees, G10).

A value is hidden by the name it stands under, or because it looks like a secret wherever it stands.
"""

from __future__ import annotations

import re
from functools import lru_cache
from typing import Any

HIDDEN = "[redacted]"

_NAMES = (
    r"(?:http[-_]|x[-_])?(?:leader_token|lease[-_]id|idempotency[-_]key|authorization|capability|api[-_]key|"
    r"(?:server|secret|private)[-_]key|secret|password|set[-_]cookie|cookie|metadata)"
)
_NAME = re.compile(_NAMES, re.IGNORECASE)
_PATTERN = re.compile(
    # Only where a word begins: most text is then passed over at the cost of one look back.
    r"(?<![A-Za-z0-9_-])(?:"
    # The value beside such a name inside a text: JSON, a dict's repr, a header, a keyword argument.
    rf"(?P<name>(?i:{_NAMES})[\"']?\s*[:=]\s*)"
    r"""(?:b?"(?:[^"\\]|\\.)*+"?|b?'(?:[^'\\]|\\.)*+'?|(?i:bearer\s+|basic\s+)?[^\s,;}&)]+)"""
    r"|(?i:bearer\s+)\S+"
    r"|(?:osk|whsec)_[A-Za-z0-9_+/=-]+"
    # A capability has 43 such characters; a longer run may hold one.
    r"|[A-Za-z0-9_-]{43,}=?"
    # User and password of an address, as in DATABASE_URL and REDIS_URL.
    r")|(?<=://)[^\s/@]*@"
)


def redact_text(text: str) -> str:
    """`text` with everything that looks like a secret replaced, and lone surrogates written out."""
    if not text.isascii():
        text = text.encode("utf-8", "backslashreplace").decode("utf-8")
    return _PATTERN.sub(_hide, text)


def redact(value: Any) -> Any:
    """`value` as JSON types, with secrets replaced, among them whatever stands under a name that tells of one."""
    if isinstance(value, str):
        return redact_text(value)
    if value is None or isinstance(value, bool | float) or (isinstance(value, int) and value.bit_length() < 64):
        return value
    if isinstance(value, dict):
        return {key if type(key) is str else repr(key): _redact_item(key, item) for key, item in value.items()}
    if isinstance(value, list | tuple | set | frozenset):
        return [redact(item) for item in value]
    return redact_text(repr(value))


def _redact_item(key: Any, item: Any) -> Any:
    return HIDDEN if isinstance(key, str) and _tells_of_a_secret(key) else redact(item)


@lru_cache(maxsize=1024)
def _tells_of_a_secret(key: str) -> bool:
    return _NAME.fullmatch(key) is not None


def _hide(match: re.Match[str]) -> str:
    if kept := match["name"]:
        return f"{kept}{HIDDEN}"
    return f"{HIDDEN}@" if match[0].endswith("@") else HIDDEN
