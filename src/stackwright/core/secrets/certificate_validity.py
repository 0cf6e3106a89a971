"""Validity and renewal of the certificates that the operator issues: all periods, in seconds. Pure.

A certificate that was issued while the clock was ahead is renewed once the clock is right: it is not valid yet, and it
ends later than a certificate issued now.
"""

from __future__ import annotations

AUTHORITY_LIFE = 3650 * 24 * 3600.0  # of the CA of a cloud
LIFE = 365 * 24 * 3600.0
BEFORE = 90 * 24 * 3600.0  # renewal this long before the end of validity
EARLIER = 300.0  # validity begins this long before the time of issue, because clocks differ


def seconds_left(end: float, now: float) -> float:
    """Seconds until a certificate must be renewed; 0 means now."""
    remaining = end - now
    return max(remaining - BEFORE, 0.0) if remaining <= LIFE + EARLIER else 0.0


def is_authority_old(end: float, now: float) -> bool:
    """Whether a CA ends before a certificate that it issues now; then it is replaced, so certificates stay valid."""
    return end < now + LIFE
