"""Ages of states: seconds since this process first observed a name in its current state. Pure: the caller passes a
clock.

It uses a monotonic clock, because the wall clock may be set, which would make a release of one second look an hour old
or created in the future. Timestamps in objects come from wall clocks too, so they are never subtracted.
"""

from __future__ import annotations

from collections.abc import Callable, Hashable, Mapping
from dataclasses import dataclass, field


@dataclass(frozen=True)
class Progress:
    """reached  the counters → their maximum
    still    seconds since one of them last increased, without waits for external conditions
    """

    reached: Mapping[str, int] = field(default_factory=dict)
    still: float = 0.0


class Ages:
    """monotonic  returns the seconds of a monotonic clock
    at_first   initial age in seconds of a name that is seen for the first time
    """

    def __init__(self, monotonic: Callable[[], float], at_first: float = 0.0) -> None:
        self._monotonic, self._at_first = monotonic, at_first
        self._since: dict[Hashable, tuple[Hashable, float]] = {}
        self._reached: dict[Hashable, tuple[Hashable, Progress, float, bool]] = {}

    def of(self, name: Hashable, state: Hashable, known: float = 0.0) -> float:
        """Seconds since `name` was first seen in this state.

        known  age in seconds recorded by an earlier process; used when this process observes the name for the first
               time
        """
        now = self._monotonic()
        before = self._since.get(name)
        if before is None:
            self._since[name] = (state, now - max(known, self._at_first))
        elif before[0] != state:
            self._since[name] = (state, now)
        return now - self._since[name][1]

    def progress(
        self, name: Hashable, state: Hashable, counts: Mapping[str, int], recorded: Progress, held: bool = False
    ) -> Progress:
        """The maxima of the counters of `name` in this state, and the seconds since one of them increased.

        recorded  the record of an earlier process, used at the first observation by this one
        held  whether it waits for external conditions: that time is not added to `still`
        """
        now = self._monotonic()
        before = self._reached.get(name)
        if before is None:
            reached, still = (
                recorded.reached,
                max(0.0 if _grew(counts, recorded.reached) else recorded.still, self._at_first),
            )
        elif before[0] != state:
            reached, still = {}, 0.0
        else:
            _, known, at, was_held = before
            passed = 0.0 if was_held else now - at
            reached, still = known.reached, 0.0 if _grew(counts, known.reached) else known.still + passed
        most = {each: max(counts.get(each, 0), reached.get(each, 0)) for each in {*counts, *reached}}
        found = Progress(most, still)
        self._reached[name] = (state, found, now, held)
        return found


def _grew(counts: Mapping[str, int], reached: Mapping[str, int]) -> bool:
    return any(count > reached.get(each, 0) for each, count in counts.items())
