"""The number of voting servers never decreases: the remaining ones might lose the majority and stop serving. Pure.

MariaDB, etcd, Ceph and OVN's databases vote. Their number is part of a size or of a chart's values
(`services/voters.py`).
"""

from __future__ import annotations

from typing import Any

from stackwright.api.rules import Change, at
from stackwright.api.services.kinds import Size

DEFAULT = 1  # default of the charts
VOTERS: dict[Size, int] = {"single": 1, "tiny": 3, "small": 3, "medium": 3}  # size → servers of a cluster that votes


def count_of(value: Any) -> int | None:
    """The number of voting servers that a value of a chart sets; None for one that its schema rejects."""
    return int(value) if isinstance(value, int) or (isinstance(value, float) and value.is_integer()) else None


def voter_error(old: int, new: int) -> str:
    """The error if the number of voting servers is less than the previous one; otherwise empty."""
    if new >= old or old <= DEFAULT:
        return ""
    return f"cannot be reduced to {new}: {new} of {old} voting servers may have no majority; allowed: {old} or more"


def _of_size(obj: Any) -> int:
    return VOTERS.get(at(obj, "spec.size") or "single", max(VOTERS.values()))


SIZE_KEEPS_VOTERS = Change(
    "spec.size",
    "cannot be reduced to single: one server of three has no majority; allowed: tiny, small, medium",
    "self.?spec.?size.orValue('single') != 'single' || oldSelf.?spec.?size.orValue('single') == 'single'",
    lambda old, new: bool(voter_error(_of_size(old), _of_size(new))),
)
