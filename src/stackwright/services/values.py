"""The values of a chart: what the declaration builds, and over it each level of overrides. Pure."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from stackwright.core.merge import MergeConflict, merge
from stackwright.core.sensitive import cut
from stackwright.services.connections import policies
from stackwright.services.declaration import Chart, Context, Service


class Misfit(ValueError):
    """An override cannot be merged over what is below it.

    source  the level of overrides that is to blame;  path  of the value in the chart's values
    """

    def __init__(self, source: str, chart: str, path: str, problem: str) -> None:
        super().__init__(f"{source}, chart {chart}: {path}: {problem}")
        self.source, self.path, self.problem = source, path, problem


def merged_values(declared: Service, context: Context, chart: Chart) -> dict[str, Any]:
    """Without what only a Secret may hold. Raises Misfit, and other ValueErrors of what cannot be built."""
    layers: list[Mapping[str, Any]] = [chart.values(context)]
    if context.spec.size == "single":
        # Reservations are for machines that others share. A whole cloud on one small machine would not fit into them.
        layers.append({"pod": {"requests": {"cpu": "10m"}}})
    if context.ceph_options:  # other pools or another user are read at the start; a new key is not
        mark = {"stackwright.dev/ceph-options": context.ceph_options}
        layers.append({"pod": {"annotations": dict.fromkeys(chart.in_ceph, mark)}})
    if context.settings.network_policies and (rules := policies(context, chart.name)):
        layers.append({"network": {"policies": rules}})
    values = merge(*layers)
    for override in context.spec.overrides:
        if not (above := override.values.get(chart.name)):
            continue
        clean, _ = cut(above, declared.conf_files.get(chart.name))
        try:
            values = merge(values, clean)
        except MergeConflict as conflict:
            raise Misfit(override.source, chart.name, conflict.path, conflict.problem) from None
    return values
