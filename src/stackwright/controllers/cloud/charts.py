"""Checks a cloud's overrides against the charts' schemas; errors name the path in the user's manifest. Pure.

Admission calls this; the controllers do not, because an override that was admitted must not stop a whole cloud when a
newer chart rejects it. Helm then reports the error for that release.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from typing import Any

from stackwright.api.errors import path_text
from stackwright.api.rules import sets
from stackwright.cloud.deployment import OpenStackDeployment, OpenStackDeploymentSpec
from stackwright.controllers.cloud.level import Level, Rank
from stackwright.controllers.cloud.objects import service_object
from stackwright.controllers.cloud.overrides import overrides
from stackwright.controllers.cloud.selection import Wanted, wanted_services
from stackwright.core.helm.chart_schema import Schemas, of_nodes, values_errors
from stackwright.core.helm.sensitive import cut
from stackwright.core.objects import mapping
from stackwright.core.plan import Object
from stackwright.services.context import Context
from stackwright.services.declaration import Chart, Service
from stackwright.services.registry import BY_SERVICE
from stackwright.services.values import BUILT, OverrideError, context_of, merged_values

ENDPOINT, SUFFIX = ("hosts", "namespace", "port"), "cluster_domain_suffix"
FIXED = "cannot be overridden, because other services, contracts and network policies use the value of the operator"
# Any cloud is suitable, because the values do not depend on it.
_CLOUD: Object = {
    "apiVersion": OpenStackDeployment.KIND.api_version,
    "kind": OpenStackDeployment.KIND.kind,
    "metadata": {"name": "cloud", "namespace": "openstack", "uid": ""},
}


def chart_errors(spec: OpenStackDeploymentSpec, schemas: Schemas) -> list[str]:
    """All errors of a spec that is valid otherwise; `schemas` maps a chart to the schema of its values."""
    contexts = _contexts(spec)
    deployed = {chart.name for declared, context in contexts for chart in _charts(declared, context)}
    found: dict[str, list[str]] = {}  # error → charts; an override of many charts may be invalid for only some
    for declared in BY_SERVICE.values():
        for level, charts in overrides(spec, declared):
            for chart, values in charts.items():
                if chart in deployed or not level.is_shared:
                    for where, body in _bodies(level, declared, chart, values):
                        for error in _level_errors(declared, schemas, chart, body, where):
                            found.setdefault(error, []).extend([chart] if level.is_shared else [])
    errors = [f"{error} (in {', '.join(charts)})" if charts else error for error, charts in found.items()]
    return errors or [error for declared, context in contexts for error in _misfits(declared, context)]


def _level_errors(declared: Service, schemas: Schemas, chart: str, values: Mapping[str, Any], where: str) -> list[str]:
    try:
        cut(values, declared.conf_files.get(chart))
    except ValueError as error:  # the message begins with the path of the value
        return [f"{where}.{error}"]
    fixed = list(_fixed_errors(declared, chart, values, where))
    for daemonset, label, body in of_nodes(values):
        fixed += _fixed_errors(declared, chart, body, path_text(("overrides", daemonset, "labels", label), where))
    return [*values_errors(schemas, chart, values, where), *fixed]


def _fixed_errors(declared: Service, chart: str, values: Mapping[str, Any], where: str) -> Iterator[str]:
    """Errors for values that charts take, but that other services, contracts and network policies assume."""
    entries = values.get("endpoints", {})
    if entries is None:  # a null removes all fields
        yield f"{where}.endpoints: {FIXED}"
    for name, entry in mapping(entries).items():
        if entry is None or name == SUFFIX:
            yield f"{path_text(('endpoints', name), where)}: {FIXED}"
        for field in ENDPOINT:
            if sets(entry, field):
                yield f"{path_text(('endpoints', name, field), where)}: {FIXED}"
    if any(each.name == chart and each.own_name for each in declared.charts) and sets(values, "name"):
        yield f"{where}.name: {FIXED}"


def _bodies(level: Level, declared: Service, chart: str, values: Any) -> Iterator[tuple[str, Any]]:
    """(path in the manifest, values of the chart) of one level."""
    path = level.path(declared.service, chart)
    if level.rank is not Rank.NODES:
        yield path, values
        return
    for daemonset, _, body in of_nodes(values):
        yield f"{path}.{daemonset}.values", body


def _contexts(spec: OpenStackDeploymentSpec) -> list[tuple[Service, Context]]:
    """Each service of the cloud, with its context as far as it is known before the cloud exists."""
    found = [(w.declared, context_of(w.declared, thing["spec"], w.name)) for w, thing in service_objects(spec)]
    return [(declared, context) for declared, context in found if context]


def service_objects(spec: OpenStackDeploymentSpec) -> list[tuple[Wanted, Object]]:
    """The service objects of a cloud that does not exist yet."""
    return [(wanted, service_object(_CLOUD, spec, wanted)) for wanted in wanted_services(spec)]


def _charts(declared: Service, context: Context) -> Iterable[Chart]:
    return [chart for chart in declared.charts if chart.wanted(context.settings)]


def _misfits(declared: Service, context: Context) -> Iterator[str]:
    for chart in _charts(declared, context):
        try:
            merged_values(declared, context, chart)
        except OverrideError as misfit:
            level = Level.parse(misfit.source)
            if misfit.source != BUILT and level.rank is not Rank.NODES:
                yield f"{level.value_path(declared.service, chart.name, misfit.path)}: {misfit.problem}"
        except ValueError:
            continue  # not caused by overrides; the service reports it
