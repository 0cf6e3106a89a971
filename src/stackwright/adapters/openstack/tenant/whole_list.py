"""Schedules whole lists of a type whose changes are listed: from time to time, and after a request whose effect is
uncertain.

A whole list of servers is the most expensive request to Nova, and Nova fails most requests when it is overloaded. So
one list serves all objects that needed it when it began, and the next one begins after a pause of three times its
duration, or of at most a minute if it failed.
"""

from __future__ import annotations

import math
from dataclasses import dataclass, field

from stackwright.adapters.openstack.tenant.rest.rest_types import PAUSE

# Seconds between whole lists: lists of changed servers include deletions, but not detached volumes or new tags.
WHOLE = 180.0
NEEDED = 4.0  # as PAUSE, for a list that objects need
SLOWER = 1.5  # factor by which a list is expected to take longer than the last one
LONGEST_REST = 60.0  # seconds from the end of a list that failed to the next one; it may have failed only once


@dataclass
class WholeList:
    """Times are those of a monotonic clock.

    took    duration of the last whole list that succeeded
    failed  duration of the last one if it failed, or 0
    tried   start of the last one in addition to lists of changes, including a failed one
    needed  times at or after which a list must begin, because an object needs it
    """

    took: float = 0.0
    failed: float = 0.0
    tried: float = 0.0
    needed: set[float] = field(default_factory=set)

    @property
    def pause(self) -> float:
        """Seconds from the start of a list to that of the next one."""
        return max(NEEDED * self.took, min(NEEDED * self.failed, self.failed + LONGEST_REST))

    def due(self, taken: float, now: float) -> bool:
        """Whether a list is due; `taken` is the start of the last one that succeeded."""
        is_due = min(self.needed, default=math.inf) <= now or now - taken >= max(WHOLE, PAUSE * self.took)
        return is_due and now - self.tried >= self.pause

    def need(self, settled: float) -> float:
        """Request a list that begins at `settled` or later; returns the time of its expected end."""
        settled = float(math.ceil(settled))  # which bounds the number of times, however many requests are uncertain
        self.needed.add(settled)
        begins = self.tried
        for time in sorted(self.needed):
            if begins < time <= settled:
                begins = max(time, begins + self.pause)
        return begins + SLOWER * self.took

    def ended(self, began: float) -> None:
        self.needed = {time for time in self.needed if time > began}
