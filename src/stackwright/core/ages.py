"""How long something has been as it is, as far as this process knows. Pure: the clock is given.

The time of day is no measure of that: somebody may set it, and then a release that is one second old is an hour old, or
will be made in an hour. Times in objects are of such clocks too, so none is subtracted from another.
"""

from __future__ import annotations

from collections.abc import Callable, Hashable


class Ages:
    """monotonic  seconds of a clock that is never set
    at_first   seconds that count for what is seen for the first time
    """

    def __init__(self, monotonic: Callable[[], float], at_first: float = 0.0) -> None:
        self._monotonic, self._at_first = monotonic, at_first
        self._since: dict[Hashable, tuple[Hashable, float]] = {}

    def of(self, name: Hashable, state: Hashable, known: float = 0.0) -> float:
        """Seconds since `name` was first seen in this state.

        known  seconds that an earlier process wrote down; used when this one sees it for the first time
        """
        now = self._monotonic()
        before = self._since.get(name)
        if before is None:
            self._since[name] = (state, now - max(known, self._at_first))
        elif before[0] != state:
            self._since[name] = (state, now)
        return now - self._since[name][1]
