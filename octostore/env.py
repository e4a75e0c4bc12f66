"""Strict readers for the environment: an impossible setting stops the start with a sentence that names it.

A secret may also come from a file: `NAME_FILE` names it. What a value must look like beyond its type
is said by a `reads`: it takes the text and raises ValueError with what was expected, like "a port".
"""

from __future__ import annotations

import os
import re
from collections.abc import Callable
from pathlib import Path
from typing import TypeVar

from django.core.exceptions import ImproperlyConfigured

Read = TypeVar("Read")


def text(name: str, default: str = "", *, reads: Callable[[str], object] = str) -> str:
    """The value of `name`, stripped; the default where it is unset or empty."""
    value = os.environ.get(name, "").strip() or default
    try:
        reads(value)
    except ValueError as error:
        raise ImproperlyConfigured(f"{name} must be {error}, not {value!r}.") from None
    return value


def flag(name: str, default: bool) -> bool:
    """true/1/yes/on or false/0/no/off in any case."""
    value = text(name, "true" if default else "false").lower()
    if value in {"true", "1", "yes", "on"}:
        return True
    if value in {"false", "0", "no", "off"}:
        return False
    raise ImproperlyConfigured(f"{name} must be true or false, not {value!r}.")


def integer(name: str, default: int, *, low: int, high: int) -> int:
    """A whole number within [low, high]."""
    value = text(name, str(default))
    if not re.fullmatch(r"[+-]?[0-9]{1,20}", value):
        raise ImproperlyConfigured(f"{name} must be a whole number, not {value!r}.")
    if not low <= int(value) <= high:
        raise ImproperlyConfigured(f"{name} must be from {low} to {high}, not {value}.")
    return int(value)


def listing(name: str, default: str = "", *, reads: Callable[[str], Read]) -> list[Read]:
    """What `reads` makes of items separated by commas. Unlike all others it may be set to nothing: an empty list."""
    return [_item(name, item.strip(), reads) for item in os.environ.get(name, default).split(",") if item.strip()]


def choice(name: str, default: str, options: tuple[str, ...]) -> str:
    """One of `options`."""
    value = text(name, default)
    if value not in options:
        raise ImproperlyConfigured(f"{name} must be one of {', '.join(options)}, not {value!r}.")
    return value


def secret(name: str, *, reads: Callable[[str], object] = str) -> str:
    """The value of `name`, or what the file named by `NAME_FILE` holds; empty where neither is set."""
    value, path = text(name), text(f"{name}_FILE")
    if value and path:
        raise ImproperlyConfigured(f"Set {name} or {name}_FILE, not both.")
    if path:
        value = _content(f"{name}_FILE", path)
    try:
        if value:
            reads(value)
    except ValueError as error:
        # Without the value, which is nobody's to see.
        raise ImproperlyConfigured(f"{name} must be {error}.") from None
    return value


def directory(name: str, default: str) -> Path:
    """An absolute path where there is a directory, or nothing yet."""
    value = text(name, default)
    try:
        path = Path(value).resolve()
        if path.exists() and not path.is_dir():
            raise ImproperlyConfigured(f"{name} names {value}, which is no directory.")
    except (OSError, RuntimeError) as error:  # RuntimeError: links that go round in circles
        raise ImproperlyConfigured(f"{name} names {value[:100]}, which cannot be a directory.") from error
    return path


def shared_directory(name: str) -> str:
    """A directory that is there and can be written to; empty where it is unset.

    For a library that reads the variable itself: set to nothing is the same as unset for it then too.
    """
    value = text(name)
    if not value:
        os.environ.pop(name, None)
        return ""
    try:
        is_there = Path(value).is_dir() and os.access(value, os.W_OK | os.X_OK)
    except OSError:  # no name that any file could have
        is_there = False
    if not is_there:
        raise ImproperlyConfigured(f"{name} names {value[:100]}, where there is no directory that can be written to.")
    return value


def _item(name: str, item: str, reads: Callable[[str], Read]) -> Read:
    try:
        return reads(item)
    except ValueError as error:
        raise ImproperlyConfigured(f"{name} must list {error}, separated by commas, not {item!r}.") from None


def _content(name: str, path: str) -> str:
    try:
        return Path(path).read_text(encoding="utf-8").strip()
    except OSError as error:
        raise ImproperlyConfigured(f"{name} names {path}, which cannot be read: {error.strerror}.") from error
    except UnicodeDecodeError as error:
        raise ImproperlyConfigured(f"{name} names {path}, which holds no text.") from error
