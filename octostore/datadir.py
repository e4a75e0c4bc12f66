"""The data directory: made when something is first put into it, and named by its setting where that cannot be."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from django.core.exceptions import ImproperlyConfigured

SETTING = "OCTOSTORE_DATA"


@contextmanager
def using(directory: Path) -> Iterator[None]:
    """Make it, for its owner alone, where it is missing; turn what the system says within into ImproperlyConfigured."""
    try:
        directory.mkdir(mode=0o700, parents=True, exist_ok=True)
        yield
    except OSError as error:
        what = "" if error.filename in {None, str(directory)} else f"{error.filename}: "
        raise ImproperlyConfigured(
            f"{SETTING} names {directory}, which cannot be used: {what}{error.strerror}."
        ) from error
