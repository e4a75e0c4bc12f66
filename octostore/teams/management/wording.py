"""What goes wrong in a command, told in a sentence; and lengths of time as people write them."""

from __future__ import annotations

import re
from argparse import ArgumentTypeError
from collections.abc import Iterator
from contextlib import contextmanager
from datetime import timedelta

import django.db
from django.core.exceptions import ImproperlyConfigured
from django.core.management.base import CommandError

from octostore.lib.errors import DomainError
from octostore.tables import require_tables

_LENGTH = re.compile(r"([1-9][0-9]{0,5})([smhdw])")
_UNITS = {"s": "seconds", "m": "minutes", "h": "hours", "d": "days", "w": "weeks"}


@contextmanager
def in_words() -> Iterator[None]:
    """Turn refusals and failures of the database, also that it lacks migrations, into CommandError."""
    try:
        require_tables()
        yield
    except ImproperlyConfigured as error:
        raise CommandError(f"This cannot be done: {error}") from error
    except DomainError as error:
        raise CommandError(f"{error.details or error.text}.") from error
    except django.db.Error as error:
        said = next(iter(str(error).splitlines()), type(error).__name__)
        raise CommandError(f"The database cannot be used: {said.rstrip('.')}.") from error


def length(text: str) -> timedelta:
    """An argument like 90d, 12h, 30m or 2w."""
    found = _LENGTH.fullmatch(text)
    if found is None:
        raise ArgumentTypeError(f"{text!r} is no length of time like 90d, 12h, 30m or 2w")
    return timedelta(**{_UNITS[found[2]]: int(found[1])})
