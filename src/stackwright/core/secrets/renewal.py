"""When certificates that the operator issues are renewed. All times are in seconds.

What a clock that was ahead has made is renewed too, as soon as the clock is right: it is not valid yet, and its end is
later than that of anything that is made now.
"""

from __future__ import annotations

LIFE = 365 * 24 * 3600.0
BEFORE = 90 * 24 * 3600.0  # its end, a certificate is renewed
EARLIER = 300.0  # than it is issued, a certificate is valid, because clocks differ


def left(end: float, now: float) -> float:
    """Until a certificate must be renewed; 0 for now."""
    remaining = end - now
    return max(remaining - BEFORE, 0.0) if remaining <= LIFE + EARLIER else 0.0
