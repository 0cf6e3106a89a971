"""The overrides of a cloud, by service and level, and their errors. Pure.

The levels of values are kept separate, in rising priority. A plan can thus name the level of each change, and `~item`
in one level removes an item of the levels below it but not of those above it.
"""

from __future__ import annotations

from collections.abc import Collection, Iterable
from itertools import islice
from typing import Any

from stackwright.api.errors import NOT_SUPPORTED, path_text
from stackwright.api.fields.labels import QUALIFIED, VALUE, is_qualified, is_value
from stackwright.api.rules import ERRORS
from stackwright.api.wording import choices
from stackwright.cloud.deployment import Charts, OpenStackDeploymentSpec
from stackwright.cloud.service_names import PROGRAMS, UNSUPPORTED
from stackwright.controllers.cloud.level import Level, Rank
from stackwright.services.declaration import Service
from stackwright.services.registry import BY_SERVICE, SERVICES

Path = tuple[str, ...]  # names from the root of the manifest


class InvalidOverride(ValueError):
    """Overrides that address a service, chart or DaemonSet that does not exist; the message names all of them."""


def overrides(spec: OpenStackDeploymentSpec, declared: Service) -> list[tuple[Level, dict[str, Any]]]:
    """(level, chart → values), in rising priority."""
    errors = override_errors(spec, declared)
    if errors:
        raise InvalidOverride("; ".join(errors))
    charts = [chart.name for chart in declared.charts]
    group = spec.common.openstack if declared.group == "openstack" else spec.common.infra
    levels = [
        (Level(Rank.ALL_CHARTS), _all(spec.common.charts, charts)),
        (Level(Rank.ANY_CHART), _named(spec.common.charts, charts)),
        (Level(Rank.GROUP, declared.group), _all(group, charts)),
        (Level(Rank.GROUP_CHART, declared.group), _named(group, charts)),
        (
            Level(Rank.SERVICES),
            {c: v["values"] for c, v in spec.services.get(declared.service, {}).items() if v.get("values")},
        ),
    ]
    for node_label, node in spec.nodes.items():
        found: dict[str, Any] = {}
        for chart, daemonsets in node.services.get(declared.service, {}).items():
            label, value = node_label.split("::", 1)
            found[chart] = {
                "overrides": {
                    name: {"labels": {f"{label}::{value}": d.get("values", {})}} for name, d in daemonsets.items()
                }
            }
        levels.append((Level(Rank.NODES, node_label), found))
    return levels


def _all(group: Charts, charts: list[str]) -> dict[str, Any]:
    """Values for all charts of a group."""
    return dict.fromkeys(charts, group.values) if group.values else {}


def _named(group: Charts, charts: list[str]) -> dict[str, Any]:
    """Values for single charts of a group."""
    found = {chart: group.releases[chart].get("values", {}) for chart in charts if chart in group.releases}
    return {chart: values for chart, values in found.items() if values}


def override_errors(spec: OpenStackDeploymentSpec, declared: Service) -> list[str]:
    """Errors of this service's overrides: an unknown target or an invalid shape."""
    charts = {chart.name: chart for chart in declared.charts}
    errors: list[str] = []
    where: Path = ("spec", "services", declared.service)
    for chart, body in _entries(spec.services.get(declared.service, {}), where, "chart", charts, errors):
        errors += _values_errors(body, (*where, chart))
    for node_label, node in spec.nodes.items():
        where = ("spec", "nodes", node_label, "services", declared.service)
        for chart, found in _entries(node.services.get(declared.service, {}), where, "chart", charts, errors):
            here = (*where, chart)
            for name, body in _entries(found, here, "DaemonSet", charts[chart].daemonsets, errors):
                errors += _values_errors(body, (*here, name))
    return errors


def _entries(
    value: Any, where: Path, what: str, allowed: Collection[str], errors: list[str]
) -> Iterable[tuple[str, Any]]:
    """Entries with an allowed name; the others are added to `errors`."""
    if not isinstance(value, dict):
        errors.append(f"{path_text(where)}: takes a mapping of {what}s")
        return []
    # Each unknown name is compared with all allowed ones, so no more of them than a report shows are checked.
    for name in islice((name for name in value if name not in allowed), max(ERRORS + 1 - len(errors), 0)):
        lacks, synonyms = (name in UNSUPPORTED, PROGRAMS) if what == "service" else (False, {})
        meant = choices(name, sorted(allowed), synonyms)
        problem = f"{NOT_SUPPORTED}; remove it" if lacks else f"unknown {what}; {meant}"
        errors.append(f"{path_text((*where, name))}: {problem}")
    return [(name, body) for name, body in value.items() if name in allowed]


def _values_errors(body: Any, where: Path) -> list[str]:
    if isinstance(body, dict) and not set(body) - {"values"} and isinstance(body.get("values", {}), dict):
        return []
    return [f"{path_text(where)}: takes only a mapping `values`"]


def _label_error(text: str) -> str:
    label, separator, value = text.partition("::")
    if not (label and separator and value):
        return "write <label>::<value>"
    if not is_qualified(label):
        return f"the part before :: {QUALIFIED}"
    return "" if is_value(value) else f"the part after :: {VALUE}"


def spec_errors(spec: OpenStackDeploymentSpec) -> list[str]:
    """Errors of the whole spec that no schema can detect."""
    wrong = ((label, problem) for label in spec.nodes if (problem := _label_error(label)))
    errors = [f"{path_text(('spec', 'nodes', label))}: {problem}" for label, problem in islice(wrong, ERRORS + 1)]
    for part, group in spec.common:
        members = [declared for declared in SERVICES if part in ("charts", declared.group)]
        known = {chart.name for declared in members for chart in declared.charts}
        where = ("spec", "common", part, "releases")
        for chart, body in _entries(group.releases, where, "chart", known, errors):
            errors += _values_errors(body, (*where, chart))
    for declared in SERVICES:
        errors += override_errors(spec, declared)
    for label, node in spec.nodes.items():
        list(_entries(node.services, ("spec", "nodes", label, "services"), "service", BY_SERVICE, errors))
    return errors
