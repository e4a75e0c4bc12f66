"""Calls released at one instant, each on a thread and a database connection of its own."""

from __future__ import annotations

import threading
from collections.abc import Callable, Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager
from typing import TypeVar

from django.db import connections

Result = TypeVar("Result")

PATIENCE_SECONDS = 60


def race(calls: Sequence[Callable[[], Result]]) -> list[Result]:
    """The results, in the order of the calls; the first exception is raised once all have ended."""
    barrier = threading.Barrier(len(calls))

    def at_once(call: Callable[[], Result]) -> Result:
        barrier.wait(PATIENCE_SECONDS)
        try:
            return call()
        finally:
            connections.close_all()

    with ThreadPoolExecutor(len(calls)) as pool:
        return [future.result(PATIENCE_SECONDS) for future in [pool.submit(at_once, call) for call in calls]]


@contextmanager
def beside(work: Callable[[], object]) -> Iterator[None]:
    """Run `work` again and again on a thread beside the block; its exception is raised at the end."""
    over = threading.Event()

    def loop() -> None:
        try:
            while not over.is_set():
                work()
        finally:
            connections.close_all()

    with ThreadPoolExecutor(1) as pool:
        future = pool.submit(loop)
        try:
            yield
        finally:
            over.set()
        future.result(PATIENCE_SECONDS)
