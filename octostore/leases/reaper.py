"""Work in the background: needed for telling and for tidiness, never for safety.

Every step takes its rows in key order and skips those that are locked, in short transactions, so
several schedulers may run it at once and no leader waits for it.
"""

from __future__ import annotations

import time
from collections.abc import Callable
from datetime import timedelta

from octostore.leases import storage

# Sized for transactions well under 200 ms on either database.
BATCH = 500


def sweep(*, seconds: float = 10.0) -> int:
    """Mark the terms whose deadline has passed, at that deadline; how many were marked.

    Stops after `seconds` at the latest: the next sweep goes on.
    """
    _in_batches(lambda: storage.run(lambda transitions: transitions.sweep_groups(BATCH)), seconds)
    return _in_batches(lambda: storage.run(lambda transitions: transitions.sweep(BATCH)), seconds)


def forget(space: str, *, idle: timedelta, seconds: float = 30.0) -> int:
    """Forget, with their history, names whose last term ended at least `idle` ago.

    In all spaces that begin with `space`.
    """
    idle_ms = round(idle.total_seconds() * 1000)
    return _in_batches(lambda: storage.run(lambda transitions: transitions.forget(space, idle_ms, BATCH)), seconds)


def forget_groups(*, idle: timedelta, seconds: float = 30.0) -> int:
    """Forget groups that ended at least `idle` ago; how many went."""
    idle_ms = round(idle.total_seconds() * 1000)
    return _in_batches(lambda: storage.run(lambda transitions: transitions.forget_groups(idle_ms, BATCH)), seconds)


def trim(*, terms_kept: int, seconds: float = 30.0) -> int:
    """Drop the events beyond the last `terms_kept` terms of each name; how many went."""
    kept = 2 * terms_kept
    return _in_batches(lambda: storage.run(lambda transitions: transitions.trim(kept, BATCH)), seconds)


def after_restore(*, actor: str) -> int:
    """End every live lease and start a new incarnation of every name; how many were ended.

    For a database that was restored, or promoted without all its predecessor had acknowledged.
    """
    sweep(seconds=float("inf"))
    ended: int = storage.run(lambda transitions: transitions.restore("restored", actor))
    return ended


def _in_batches(step: Callable[[], int], seconds: float) -> int:
    started, total = time.monotonic(), 0
    while True:
        done = step()
        total += done
        if done < BATCH or time.monotonic() - started > seconds:
            return total
