"""Many callers of the engine at one instant, each on a thread and a connection of its own."""

from __future__ import annotations

import threading
from collections.abc import Callable, Iterator
from concurrent.futures import Future, ThreadPoolExecutor
from contextlib import contextmanager
from typing import TypeVar

from django.db import connection

Result = TypeVar("Result")

PATIENCE_SECONDS = 30


def together(count: int, act: Callable[[int], Result]) -> list[Result]:
    """What `act(0)` to `act(count - 1)` give, all released by one barrier; raises what they raise."""
    barrier = threading.Barrier(count)

    def one(number: int) -> Result:
        try:
            connection.ensure_connection()
            barrier.wait(PATIENCE_SECONDS)
            return act(number)
        finally:
            connection.close()

    with ThreadPoolExecutor(count) as pool:
        return list(pool.map(one, range(count)))


@contextmanager
def crew(count: int) -> Iterator[Callable[[Callable[[int], Result]], list[Result]]]:
    """`together`, again and again on the same threads and connections."""
    barrier = threading.Barrier(count)

    def one(number: int, act: Callable[[int], Result]) -> Result:
        connection.ensure_connection()
        barrier.wait(PATIENCE_SECONDS)
        return act(number)

    def close(_: int) -> None:
        connection.close()
        barrier.wait(PATIENCE_SECONDS)

    with ThreadPoolExecutor(count) as pool:
        try:
            yield lambda act: list(pool.map(lambda number: one(number, act), range(count)))
        finally:
            list(pool.map(close, range(count)))


@contextmanager
def beside(act: Callable[[], Result]) -> Iterator[Future[Result]]:
    """`act` on a thread of its own, through the block and to its end."""

    def one() -> Result:
        try:
            return act()
        finally:
            connection.close()

    with ThreadPoolExecutor(1) as pool:
        yield pool.submit(one)
