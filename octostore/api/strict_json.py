"""JSON as the contract reads it: what Python's parser lets through and a database or a client would not is refused.

Python's C scanner does the work and its hooks catch what it would accept. One walk over the result
finds what only the whole value shows, and the field it stands in.
"""

from __future__ import annotations

import json
import math
import re
from collections import Counter
from typing import Any

from octostore.lib.errors import InvalidInput

DEPTH_MAX = 32
INTEGER_MIN, INTEGER_MAX = -(2**63), 2**64 - 1

# An unterminated string runs to the end: every quote is looked at once, whatever the text.
_STRING_OR_BRACKET = re.compile(r'"(?:[^"\\]|\\.?)*+"?|[\[{]|[\]}]', re.DOTALL)
_FIELD = re.compile(r"[A-Za-z][A-Za-z0-9_]{0,63}")
_SHORT = 18  # digits, sign included, that always fit


class _NotFinite:
    """Stands in the parsed value where NaN or an infinity stood."""


class _TooLarge:
    """Stands in the parsed value where an integer beyond 64 bits stood."""


class _DuplicateKey(ValueError):
    def __init__(self, key: str) -> None:
        self.key = key


def load_object(raw: bytes) -> dict[str, Any]:
    """The JSON object that `raw` is.

    Raises InvalidInput, naming the field in its details: with 400 for what is not sound JSON, with
    422 for sound JSON that is no object or holds an integer beyond 64 bits.
    """
    try:
        text = raw.decode("utf-8")
    except UnicodeDecodeError as error:
        raise InvalidInput("body is not valid UTF-8") from error
    if not _is_shallow(text):
        raise InvalidInput(f"body is nested deeper than {DEPTH_MAX}")
    try:
        value = _DECODER.decode(text)
    except json.JSONDecodeError as error:
        raise InvalidInput(f"body is not valid JSON: it breaks at character {error.pos}") from error
    except _DuplicateKey as error:
        raise InvalidInput(f"{_named(error.key)} appears twice") from error
    too_large: list[str] = []
    if type(value) is dict:
        for key, item in value.items():
            _check(key, "a field of body", too_large)
            _check(item, _named(key), too_large)
    else:
        _check(value, "body", too_large)
        raise InvalidInput("body must be a JSON object", status=422)
    if too_large:
        raise InvalidInput(f"{too_large[0]} must be an integer within 64 bits", status=422)
    return value


def _check(value: Any, field: str, too_large: list[str]) -> None:
    """Refuse what is no sound JSON; note where an integer beyond 64 bits stands: those count in sound JSON only."""
    kind = type(value)
    if kind is str:
        if "\0" in value:
            raise InvalidInput(f"{field} holds the character NUL")
        if not value.isascii() and not _is_unicode(value):
            raise InvalidInput(f"{field} holds half of a surrogate pair")
    elif kind is dict:
        for key, item in value.items():
            _check(key, field, too_large)
            _check(item, field, too_large)
    elif kind is list:
        for item in value:
            _check(item, field, too_large)
    elif kind is _NotFinite:
        raise InvalidInput(f"{field} must be a finite number")
    elif kind is _TooLarge:
        too_large.append(field)


def _is_unicode(text: str) -> bool:
    try:
        text.encode("utf-8")
    except UnicodeEncodeError:
        return False
    return True


def _is_shallow(text: str) -> bool:
    if text.count("[") + text.count("{") <= DEPTH_MAX:
        return True
    depth = 0
    for match in _STRING_OR_BRACKET.finditer(text):
        first = match[0][0]
        if first in "[{":
            depth += 1
            if depth > DEPTH_MAX:
                return False
        elif first in "]}":
            depth -= 1
    return True


def _named(key: str) -> str:
    """The key as `details` may show it: a plain field name, or else no name."""
    return key if _FIELD.fullmatch(key) else "a field of body"


def _object(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
    value = dict(pairs)
    if len(value) != len(pairs):
        (key, _), *_ = Counter(key for key, _ in pairs).most_common(1)
        raise _DuplicateKey(key)
    return value


def _integer(digits: str) -> int | _TooLarge:
    if len(digits) <= _SHORT:
        return int(digits)
    # The length first: Python refuses, and takes long over, numbers of thousands of digits.
    if len(digits) <= 20 and INTEGER_MIN <= (number := int(digits)) <= INTEGER_MAX:
        return number
    return _TooLarge()


def _float(digits: str) -> float | _NotFinite:
    number = float(digits)
    return number if math.isfinite(number) else _NotFinite()


def _constant(_: str) -> _NotFinite:
    return _NotFinite()


_DECODER = json.JSONDecoder(object_pairs_hook=_object, parse_int=_integer, parse_float=_float, parse_constant=_constant)
