"""Checks a cloud's overrides against the charts' schemas; errors name the path in the user's manifest. Pure.

Admission calls this; the controllers do not, because an override that was admitted once must not stop a whole cloud
when a newer chart rejects it. Helm then reports the error for the single release.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from typing import Any

from stackwright.api.errors import bounded
from stackwright.cloud.deployment import OpenStackDeployment, OpenStackDeploymentSpec
from stackwright.controllers.cloud.objects import service_object
from stackwright.controllers.cloud.overrides import overrides
from stackwright.controllers.cloud.selection import Wanted, wanted_services
from stackwright.core.helm.chart_schema import Schema, value_errors
from stackwright.core.helm.sensitive import cut
from stackwright.core.plan import Object
from stackwright.services.context import Context
from stackwright.services.declaration import Chart, Service
from stackwright.services.registry import BY_SERVICE
from stackwright.services.values import OverrideError, context_of, merged_values

Schemas = Mapping[str, Schema]
# Any cloud will do: the values do not depend on it.
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
        for source, levels in overrides(spec, declared):
            for chart, values in levels.items():
                if chart in deployed or not _for_many(source):
                    for where, body in _bodies(source, declared, chart, values):
                        for error in _level(declared, schemas, chart, body, where):
                            found.setdefault(error, []).extend([chart] if _for_many(source) else [])
    errors = [f"{error} (in {', '.join(charts)})" if charts else error for error, charts in found.items()]
    return errors or [error for declared, context in contexts for error in _misfits(declared, context)]


def _for_many(source: str) -> bool:
    """Whether a level applies to every chart of a group."""
    return source.startswith("spec.common.") and source.endswith(".values")


def values_errors(schemas: Schemas, chart: str, values: Mapping[str, Any], where: str) -> list[str]:
    """Values that a chart would reject; `where` is their path. Unknown charts are not checked."""
    return bounded(value_errors(schemas.get(chart, {}), values, where))


def _level(declared: Service, schemas: Schemas, chart: str, values: Mapping[str, Any], where: str) -> list[str]:
    try:
        cut(values, declared.conf_files.get(chart))
    except ValueError as error:  # the message begins with the path of the value
        return [f"{where}.{error}"]
    return values_errors(schemas, chart, values, where)


def _bodies(source: str, declared: Service, chart: str, values: Any) -> Iterator[tuple[str, Any]]:
    """(path in the manifest, values of the chart) of one level."""
    if not source.startswith("spec.nodes."):
        yield place(source, declared, chart), values
        return
    for daemonset, labels in values["overrides"].items():
        for body in labels["labels"].values():
            yield f"{source}.services.{declared.service}.{chart}.{daemonset}.values", body


def place(source: str, declared: Service, chart: str) -> str:
    """The path of a chart's level in the manifest."""
    if source == "spec.services":
        return f"{source}.{declared.service}.{chart}.values"
    return f"{source}.{chart}.values" if source.endswith(".releases") else source


def _contexts(spec: OpenStackDeploymentSpec) -> list[tuple[Service, Context]]:
    """Each service of the cloud, with the context known before the cloud exists."""
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
            if misfit.source.startswith("spec.") and not misfit.source.startswith("spec.nodes."):
                yield f"{place(misfit.source, declared, chart.name)}.{misfit.path}: {misfit.problem}"
        except ValueError:
            continue  # not caused by overrides; the service reports it
