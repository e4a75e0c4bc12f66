from __future__ import annotations


class Clock:
    """A monotonic clock in nanoseconds that moves when told to."""

    def __init__(self) -> None:
        self.now = 10**12

    def __call__(self) -> int:
        return self.now

    def advance(self, *, ms: int) -> None:
        self.now += ms * 10**6
