"""Strict readers for the environment: an impossible setting stops the start with a sentence.

A secret may also come from a file: `NAME_FILE` names it.
"""

from __future__ import annotations

import os
from pathlib import Path

from django.core.exceptions import ImproperlyConfigured


def text(name: str, default: str = "") -> str:
    """The value of `name`, stripped; the default where it is unset or empty."""
    return os.environ.get(name, "").strip() or default


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
    try:
        number = int(value)
    except ValueError:
        raise ImproperlyConfigured(f"{name} must be a whole number, not {value!r}.") from None
    if not low <= number <= high:
        raise ImproperlyConfigured(f"{name} must be from {low} to {high}, not {number}.")
    return number


def listing(name: str, default: str = "") -> list[str]:
    """Items separated by commas, empty ones dropped."""
    return [item.strip() for item in text(name, default).split(",") if item.strip()]


def choice(name: str, default: str, options: tuple[str, ...]) -> str:
    """One of `options`."""
    value = text(name, default)
    if value not in options:
        raise ImproperlyConfigured(f"{name} must be one of {', '.join(options)}, not {value!r}.")
    return value


def secret(name: str) -> str:
    """The value of `name`, or what the file named by `NAME_FILE` holds; empty where neither is set."""
    value, path = text(name), text(f"{name}_FILE")
    if value and path:
        raise ImproperlyConfigured(f"Set {name} or {name}_FILE, not both.")
    if not path:
        return value
    try:
        return Path(path).read_text(encoding="utf-8").strip()
    except OSError as error:
        raise ImproperlyConfigured(f"{name}_FILE names {path}, which cannot be read: {error.strerror}.") from error
