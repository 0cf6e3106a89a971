"""The values of a chart: the declaration's base values, with each override level merged over them. Pure."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any

from pydantic import ValidationError

from stackwright.api.errors import path_text
from stackwright.api.fields.lines import LINE, unlined
from stackwright.api.services.kinds import ServiceSpec
from stackwright.core.helm.merge import MergeConflict, merge
from stackwright.core.helm.sensitive import cut
from stackwright.core.objects import mapping
from stackwright.services.connections import egress, policies
from stackwright.services.context import Context
from stackwright.services.declaration import Chart, Service
from stackwright.services.images import image_values

LOSSES = "stackwright.dev/database-losses"
BUILT = "built values"  # source of the values below all overrides


class OverrideError(ValueError):
    """An override that cannot be merged with the levels below it, or is not a valid value of a configuration file.

    source  the invalid override level;  path  path of the value in the chart's values
    """

    def __init__(self, source: str, chart: str, path: str, problem: str) -> None:
        super().__init__(f"{source}, chart {chart}: {path}: {problem}")
        self.source, self.path, self.problem = source, path, problem


def context_of(declared: Service, spec: Mapping[str, Any], name: str = "") -> Context | None:
    """The context, as far as the spec of a service object determines it; None if the spec is invalid."""
    try:
        parsed = ServiceSpec.model_validate(spec)
        settings = declared.settings.model_validate(parsed.settings)
    except ValidationError:
        return None
    return Context(name or declared.name, "openstack", parsed, {}, settings)


def merged_values(declared: Service, context: Context, chart: Chart) -> dict[str, Any]:
    """The merged values without sensitive options. Raises OverrideError or ValueError."""
    layers: list[Mapping[str, Any]] = [chart.values(context)]
    _check(BUILT, chart, layers[0])
    if context.spec.size == "single":
        # CPU requests are intended for shared machines; all those of a cloud would not fit on one small machine.
        layers.append({"pod": {"requests": {"cpu": "10m"}}})
    if context.ceph_options:  # pods read names of pools and users only at start, keys at each connection
        mark = {"stackwright.dev/ceph-options": context.ceph_options}
        layers.append({"pod": {"annotations": dict.fromkeys(chart.in_ceph, mark)}})
    if context.losses and "oslo_db" in (layers[0].get("secrets") or {}):
        # An empty database must be initialised again, and running processes still cache the lost content.
        layers.append({"pod": {"annotations": {"default": {LOSSES: str(context.losses)}}}})
    if context.settings.network_policies and (rules := policies(context, chart.name)):
        layers.append({"network": {"policies": rules, **({"egress": opened} if (opened := egress(chart)) else {})}})
    values = merge(*layers, image_values(chart, context.settings, context.images, context.pull_secrets))
    for override in context.spec.overrides:
        if not (above := override.values.get(chart.name)):
            continue
        _check(override.source, chart, above)
        clean, _ = cut(above, declared.conf_files.get(chart.name))
        try:
            values = merge(values, clean)
        except MergeConflict as conflict:
            raise OverrideError(override.source, chart.name, conflict.path, conflict.problem) from None
    return values


def _check(source: str, chart: Chart, values: Mapping[str, Any]) -> None:
    """Rejects line breaks: the text after one would become a separate option or section."""
    wrong = [
        path
        for where, conf in _confs(values)
        for name in chart.options
        for path in unlined(conf.get(name), f"{where}.{name}")
    ]
    if wrong:
        raise OverrideError(source, chart.name, ", ".join(wrong), LINE.message)


def _confs(values: Mapping[str, Any]) -> Iterator[tuple[str, Mapping[str, Any]]]:
    """(path, configuration files) of all pods, and of DaemonSets on single nodes."""
    yield "conf", mapping(values.get("conf"))
    for name, kinds in mapping(values.get("overrides")).items():
        for kind, nodes in mapping(kinds).items():
            for node, own in mapping(nodes).items():
                yield path_text(("overrides", name, kind, node, "conf")), mapping(mapping(own).get("conf"))
