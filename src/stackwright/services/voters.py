"""Voters: servers that vote. They never get fewer: those left may have no majority, and then serve nobody. Pure.

They are counted in the merged values, for an override of any level may say how many there are.
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
DEFAULT = 1  # of the charts, where values do not say it


def field_of(chart: Chart) -> str:
    """Where the values of a chart say how many servers vote."""
    return f"{REPLICAS}.{chart.voters}"


def values_error(chart: Chart, before: Mapping[str, Any], after: Mapping[str, Any]) -> str:
    """What is wrong with merged values after others; empty for nothing, and for a chart whose servers do not vote."""
    return voter_error(voters_by(chart, before), voters_by(chart, after)) if chart.voters else ""


def voter_error(old: int, new: int) -> str:
    """What is wrong with so many servers that vote after others; empty for nothing."""
    if new >= old or old <= DEFAULT:
        return ""
    return f"cannot become {new}: {new} of {old} servers that vote may have no majority; allowed: {old} or more"


def override_errors(declared: Service, old: Object, new: Object) -> Iterator[tuple[ServiceSpec, int, Chart, str]]:
    """(spec and index of the override that is to blame, chart, what is wrong) of two service objects.

    None for objects that are not valid otherwise. A size alone is told elsewhere.
    """
    before, after = (context_of(declared, each.get("spec") or {}) for each in (old, new))
    if before is None or after is None:
        return
    for chart in declared.charts:
        try:
            problem = values_error(chart, *(merged_values(declared, context, chart) for context in (before, after)))
        except ValueError:
            continue  # of an override that cannot be merged, which is told as such
        for spec in (after.spec, before.spec):
            if problem and (index := level(spec, chart)) is not None:
                yield spec, index, chart, problem
                break


def level(spec: ServiceSpec, chart: Chart) -> int | None:
    """Index of the override that says how many servers vote, or takes away what is said below it; None for none."""
    found = [index for index, each in enumerate(spec.overrides) if _says(each.values.get(chart.name), field_of(chart))]
    return found[-1] if found else None


def voters_by(chart: Chart, values: Mapping[str, Any]) -> int:
    """How many servers vote, by the merged values of a chart."""
    count = at(values, field_of(chart))
    # What is no number is refused by the chart's schema, and changes nothing.
    return int(count) if isinstance(count, int) or (isinstance(count, float) and count.is_integer()) else DEFAULT


def _says(values: Any, field: str) -> bool:
    for part in field.split("."):
        if not isinstance(values, Mapping) or part not in values:
            return False
        if (values := values[part]) is None:
            return True
    return True
