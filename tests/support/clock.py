"""A substitute for the module `time`."""

from __future__ import annotations


class Clock:
    """Time advances by one second with each pause, and not otherwise."""

    def __init__(self) -> None:
        self.now = 0.0

    def monotonic(self) -> float:
        return self.now

    def sleep(self, _: float) -> None:
        self.now += 1.0
