"""Audit entries as lines of a file."""

from __future__ import annotations

import csv
import json
from collections.abc import Callable, Iterable, Iterator
from typing import Any

from octostore.teams.models import AuditEntry

COLUMNS = ("at", "actor", "action", "object", "reason", "before", "after", "request_id")
# What a spreadsheet would take for a formula where a cell begins with it.
_FORMULA = ("=", "+", "-", "@", "\t", "\r")


class _Line:
    """A file for `csv.writer` that gives back what it writes."""

    def write(self, text: str) -> str:
        return text


def as_csv(entries: Iterable[AuditEntry]) -> Iterator[str]:
    """A header and a line for each entry; a cell that a spreadsheet would calculate begins with an apostrophe."""
    writer = csv.writer(_Line())
    yield _written(writer, COLUMNS)
    for entry in entries:
        yield _written(writer, [_cell(value) for value in _values(entry).values()])


def as_json_lines(entries: Iterable[AuditEntry]) -> Iterator[str]:
    for entry in entries:
        yield json.dumps(_values(entry), ensure_ascii=False) + "\n"


FORMATS: dict[str, tuple[str, Callable[[Iterable[AuditEntry]], Iterator[str]]]] = {
    "csv": ("text/csv; charset=utf-8", as_csv),
    "jsonl": ("application/jsonl; charset=utf-8", as_json_lines),
}


def _values(entry: AuditEntry) -> dict[str, Any]:
    return {name: getattr(entry, name) for name in COLUMNS} | {
        "at": entry.at.isoformat(timespec="milliseconds").replace("+00:00", "Z")
    }


def _cell(value: Any) -> str:
    if value is None:
        return ""
    text = value if isinstance(value, str) else json.dumps(value, ensure_ascii=False)
    return f"'{text}" if text.startswith(_FORMULA) else text


def _written(writer: Any, cells: Iterable[str]) -> str:
    line: str = writer.writerow(cells)
    return line
