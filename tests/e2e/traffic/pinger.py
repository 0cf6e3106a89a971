"""A ping in the background that counts lost packets."""

from __future__ import annotations

import itertools
import threading
import time

from stackwright.smoke.icmp import ping

PAUSE = 0.2
PATIENCE = 2.0
CHANCE = 1  # lost pings of a busy machine; an outage loses consecutive ones


class Pinger:
    """Pings an address continuously, and stores the time of each response."""

    def __init__(self, address: str) -> None:
        self._address = address
        self._samples: list[tuple[float, bool]] = []
        self._stop = threading.Event()
        self._thread = threading.Thread(target=self._work, daemon=True)

    def __enter__(self) -> Pinger:
        self._thread.start()
        return self

    def __exit__(self, *_: object) -> None:
        self._stop.set()
        self._thread.join()

    def _work(self) -> None:
        while not self._stop.is_set():
            at = time.monotonic()
            self._samples.append((at, ping(self._address, PATIENCE)))
            self._stop.wait(PAUSE)

    def mark(self) -> int:
        return len(self._samples)

    def lost(self, mark: int = 0) -> int:
        return sum(1 for _, answered in self._samples[mark:] if not answered)

    def gap(self, mark: int = 0) -> float:
        """The longest time in seconds without a response, including a current one."""
        samples = self._samples[mark:]
        times = [at for at, answered in samples if answered]
        ends = [samples[0][0], *times, samples[-1][0]] if samples else []
        return max((later - sooner for sooner, later in itertools.pairwise(ends)), default=0.0)
