"""Voting servers. Their number never decreases: the remaining ones might have no majority and stop serving. Pure.

They are counted in the merged values, because an override of any level may set their number.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any

from stackwright.api.rules import at
from stackwright.api.services.kinds import ServiceSpec
from stackwright.core.plan import Object
from stackwright.services.declaration import Chart, Service
from stackwright.services.values import context_of, merged_values

REPLICAS = "pod.replicas"
DEFAULT = 1  # default of the charts


def field_of(chart: Chart) -> str:
    """The path of the number of voting servers in a chart's values."""
    return f"{REPLICAS}.{chart.voters}"


def values_error(chart: Chart, before: Mapping[str, Any], after: Mapping[str, Any]) -> str:
    """The error of merged values against the previous ones; empty if none, and for charts without voting servers."""
    return voter_error(voters_by(chart, before), voters_by(chart, after)) if chart.voters else ""


def voter_error(old: int, new: int) -> str:
    """The error of a number of voting servers compared with the previous one; empty if none."""
    if new >= old or old <= DEFAULT:
        return ""
    return f"cannot be reduced to {new}: {new} of {old} voting servers may have no majority; allowed: {old} or more"


def override_errors(declared: Service, old: Object, new: Object) -> Iterator[tuple[ServiceSpec, int, Chart, str]]:
    """(spec and index of the override at fault, chart, error) of an updated service object.

    Empty for objects that are invalid for other reasons. A changed size is reported elsewhere.
    """
    before, after = (context_of(declared, each.get("spec") or {}) for each in (old, new))
    if before is None or after is None:
        return
    for chart in (each for each in declared.charts if each.voters):
        try:
            problem = values_error(chart, *(merged_values(declared, context, chart) for context in (before, after)))
        except ValueError:
            continue  # an override that cannot be merged is reported elsewhere
        for spec in (after.spec, before.spec):
            if problem and (index := level(spec, chart)) is not None:
                yield spec, index, chart, problem
                break


def level(spec: ServiceSpec, chart: Chart) -> int | None:
    """Index of the override that sets the number of voting servers or removes a lower setting; None without one."""
    found = [index for index, each in enumerate(spec.overrides) if _says(each.values.get(chart.name), field_of(chart))]
    return found[-1] if found else None


def voters_by(chart: Chart, values: Mapping[str, Any]) -> int:
    """The number of voting servers in the merged values of a chart."""
    count = at(values, field_of(chart))
    # The chart's schema rejects values that are no integer; they change nothing.
    return int(count) if isinstance(count, int) or (isinstance(count, float) and count.is_integer()) else DEFAULT


def _says(values: Any, field: str) -> bool:
    for part in field.split("."):
        if not isinstance(values, Mapping) or part not in values:
            return False
        if (values := values[part]) is None:
            return True
    return True
