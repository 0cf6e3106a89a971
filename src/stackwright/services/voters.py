"""The voting servers of charts. Pure.

They are counted in the merged values, because any override level may set their number.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from typing import Any

from stackwright.api.rules import at, sets
from stackwright.api.services.kinds import ServiceSpec
from stackwright.api.services.voters import DEFAULT, count_of, voter_error
from stackwright.core.plan import Object
from stackwright.services.declaration import Chart, Service
from stackwright.services.registry import VOTING
from stackwright.services.values import context_of, merged_values


def is_voter(chart: str, component: str) -> bool:
    """Whether the servers of a component vote; false for an unknown chart."""
    return chart in VOTING and VOTING[chart].voters == component


def voters_by(chart: str, values: Mapping[str, Any]) -> int:
    """The number of voting servers in the merged values of a chart; 0 for a chart without voting servers."""
    if chart not in VOTING:
        return 0
    count = count_of(at(values, VOTING[chart].voters_field))
    return DEFAULT if count is None else count


def decrease_error(chart: str, before: Mapping[str, Any], after: Mapping[str, Any]) -> str:
    """The error if the merged values of a chart have fewer voting servers than before; otherwise empty."""
    return voter_error(voters_by(chart, before), voters_by(chart, after))


def release_errors(
    old: Iterable[Mapping[str, Any]], new: Iterable[Mapping[str, Any]]
) -> Iterator[tuple[int, Chart, str]]:
    """(index, chart, error) of the releases of an updated HelmBundle."""
    former = {(each["name"], each["chart"]): each.get("values") or {} for each in old}
    for index, each in enumerate(new):
        chart = str(each["chart"])
        if problem := decrease_error(chart, former.get((each["name"], chart), {}), each.get("values") or {}):
            yield index, VOTING[chart], problem


def override_errors(declared: Service, old: Object, new: Object) -> Iterator[tuple[ServiceSpec, int, Chart, str]]:
    """(spec and index of the override at fault, chart, error) of an updated service object.

    Empty for objects that are invalid for other reasons. Another check reports a changed size.
    """
    before, after = (context_of(declared, each.get("spec") or {}) for each in (old, new))
    if before is None or after is None:
        return
    for chart in (each for each in declared.charts if each.voters):
        try:
            merged = (merged_values(declared, context, chart) for context in (before, after))
            problem = decrease_error(chart.name, *merged)
        except ValueError:
            continue  # another check reports overrides that cannot be merged
        for spec in (after.spec, before.spec):
            if problem and (index := level(spec, chart)) is not None:
                yield spec, index, chart, problem
                break


def level(spec: ServiceSpec, chart: Chart) -> int | None:
    """Index of the override that sets the number of voting servers, or removes a lower setting; None without one."""
    found = [
        index for index, each in enumerate(spec.overrides) if sets(each.values.get(chart.name), chart.voters_field)
    ]
    return found[-1] if found else None
