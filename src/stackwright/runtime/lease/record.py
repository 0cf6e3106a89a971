"""The record in a Lease, and its expiry. Pure.

As in client-go, clocks of different machines are not compared: a record has expired when this process, by its own
clock, has observed no change for the duration in the record.
"""

from __future__ import annotations

from typing import Any

from stackwright.core.plan import Object

NAME = "stackwright-operator"
DURATION = 15.0  # seconds without a change after which others may take the Lease
_UNSEEN: Any = object()


def spec_of(lease: Object | None) -> Any:
    """The record; {} for a Lease that had no holder yet, None without a Lease."""
    return None if lease is None else lease.get("spec") or {}


def holder_of(lease: Object | None) -> str:
    return str((spec_of(lease) or {}).get("holderIdentity") or "")


def duration_of(spec: Any) -> float:
    seconds = spec.get("leaseDurationSeconds")
    return float(seconds) if isinstance(seconds, int) and seconds > 0 else DURATION


class Observation:
    """The Lease as this process observed it, and its expiry in seconds of the process's own clock."""

    def __init__(self) -> None:
        self._seen: Any = _UNSEEN
        self._until = 0.0
        self.holder = ""

    def see(self, lease: Object | None, now: float) -> None:
        """Record a response that arrived by `now`."""
        spec, first = spec_of(lease), self._seen is _UNSEEN
        if not first and spec == self._seen:
            return
        self._seen, self.holder = spec, holder_of(lease)
        if self.holder:
            self._until = now + duration_of(spec)
        elif spec is not None and (first or "leaseTransitions" in spec):  # as installed, or released by its holder
            self._until = now
        else:
            # It was deleted or emptied. A holder, perhaps one that was never observed, may not have noticed that yet.
            self._until = now + DURATION

    def forget(self) -> None:
        """Discard the observation after a failed creation: the Lease may have been created and deleted since the last
        read.
        """
        self._seen = _UNSEEN

    def is_free(self, now: float) -> bool:
        """Whether no other process can hold the Lease now."""
        return now >= self._until


def record(holder: str, before: Object | None, wall: str) -> Object:
    """The record of a holder: taken, if it was not the holder before, or renewed.

    wall  time of the machine's clock, as RFC 3339 with microseconds; only for readers
    """
    old = spec_of(before) or {}
    own = old.get("holderIdentity") == holder
    transitions = int(old.get("leaseTransitions") or 0)
    return {
        "holderIdentity": holder,
        "leaseDurationSeconds": int(DURATION),
        "acquireTime": (old.get("acquireTime") if own else None) or wall,
        "renewTime": wall,
        "leaseTransitions": transitions if own or "leaseTransitions" not in old else transitions + 1,
    }


def released(before: Object, wall: str) -> Object:
    """The record without a holder, which any process may take at once."""
    old = spec_of(before)
    return {**old, "holderIdentity": "", "leaseDurationSeconds": 1, "renewTime": wall}
