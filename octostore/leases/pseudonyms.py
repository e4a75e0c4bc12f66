"""What others learn of a holder: a pseudonym, never what could act as it."""

from __future__ import annotations

import uuid

from octostore.lib import secrets


def holder_id(space: str, name: str, *, term: int, group_id: str | None) -> str:
    """A stable one-way UUID of who holds: of the group, or of the single grant where there is none."""
    parts = (group_id,) if group_id is not None else (space, name, str(term))
    return as_uuid(secrets.digest("holder", *parts))


def as_uuid(raw: bytes) -> str:
    """The first 16 bytes as the text of a random UUID."""
    return str(uuid.UUID(bytes=raw[:16], version=4))
