"""How long a page of a list may be."""

from __future__ import annotations

from octostore.api.schema import Schema, parameter
from octostore.lib.errors import InvalidInput

PAGE_DEFAULT, PAGE_MAX = 50, 200

CURSOR: Schema = parameter("query", "cursor", "The `next_cursor` of the page before.")
LIMIT: Schema = parameter(
    "query",
    "limit",
    "At most so many.",
    example=PAGE_DEFAULT,
    type="integer",
    default=PAGE_DEFAULT,
    minimum=1,
    maximum=PAGE_MAX,
)


def limit(text: str | None, *, default: int = PAGE_DEFAULT, high: int = PAGE_MAX) -> int:
    """The number in a query's `limit`. Raises InvalidInput for any that is not from 1 to `high`."""
    if text is None:
        return default
    if not (text.isascii() and text.isdecimal() and len(text) <= 16 and 1 <= int(text) <= high):
        raise InvalidInput(f"limit must be a whole number from 1 to {high}")
    return int(text)
