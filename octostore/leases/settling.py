"""Marking the end of a term whose deadline has passed, under its lock."""

from __future__ import annotations

from octostore.leases import storage
from octostore.leases.signals import lease_changed


def settle_overdue(space: str, name: str) -> None:
    """Mark the end if it is due; tells of it then."""
    if storage.run(lambda transitions: transitions.settle(space, name)):
        lease_changed.send_robust(sender=None, space=space, name=name)
