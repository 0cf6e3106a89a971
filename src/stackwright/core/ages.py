"""How long something has been in its current state, as far as this process has observed. Pure: the clock is given.

It uses a monotonic clock, because the wall clock may be set, which would make a release of one second look an hour old
or created in the future. Timestamps in objects come from wall clocks too, so they are never subtracted.
"""

from __future__ import annotations

from collections.abc import Callable, Hashable


class Ages:
    """monotonic  returns the seconds of a monotonic clock
    at_first   initial age in seconds of a name that is seen for the first time
    """

    def __init__(self, monotonic: Callable[[], float], at_first: float = 0.0) -> None:
        self._monotonic, self._at_first = monotonic, at_first
        self._since: dict[Hashable, tuple[Hashable, float]] = {}

    def of(self, name: Hashable, state: Hashable, known: float = 0.0) -> float:
        """Seconds since `name` was first seen in this state.

        known  age in seconds recorded by an earlier process; used when this process sees the name for the first time
        """
        now = self._monotonic()
        before = self._since.get(name)
        if before is None:
            self._since[name] = (state, now - max(known, self._at_first))
        elif before[0] != state:
            self._since[name] = (state, now)
        return now - self._since[name][1]
