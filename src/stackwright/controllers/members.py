"""An update after which fewer servers vote: (object as it is stored, as it is to be) → errors. Pure.

`api/immutability.py` tells it of sizes; here it is told of overrides, which count only when all levels are merged.
"""

from __future__ import annotations

from collections.abc import Iterator

from pydantic import ValidationError

from stackwright.api.deployment import OpenStackDeployment
from stackwright.api.helmbundle import HelmBundle, HelmBundleSpec
from stackwright.api.services import ServiceSpec
from stackwright.controllers.cloud.charts import context_of, place
from stackwright.controllers.cloud.objects import wanted_services
from stackwright.controllers.cloud.validate import parse
from stackwright.core.plan import Object
from stackwright.services.declaration import Context, Service
from stackwright.services.majority import fewer, field_of, level
from stackwright.services.registry import SERVICES, VOTING
from stackwright.services.values import merged_values

_VOTING = {each.kind.kind: each for each in SERVICES if any(chart.name in VOTING for chart in each.charts)}
KINDS = {OpenStackDeployment.KIND, HelmBundle.KIND, *(each.kind for each in _VOTING.values())}


def member_errors(old: Object, new: Object) -> list[str]:
    """One line an error; none for objects that are not valid otherwise."""
    match str(new.get("kind")):
        case OpenStackDeployment.KIND.kind:
            return list(_of_cloud(old, new))
        case HelmBundle.KIND.kind:
            return list(_of_bundle(old, new))
        case kind if kind in _VOTING:
            return list(_of_service(_VOTING[kind], old, new))
    return []


def _of_cloud(old: Object, new: Object) -> Iterator[str]:
    before, after = _contexts(old), _contexts(new)
    for kind in sorted(before.keys() & after.keys()):
        for spec, index, chart, problem in _lowered(_VOTING[kind], before[kind], after[kind]):
            where = place(spec.overrides[index].source, _VOTING[kind], chart)
            yield f"{where}.{field_of(VOTING[chart])}: {problem}"


def _contexts(cloud: Object) -> dict[str, Context]:
    """Kind → context, of services of the cloud whose servers vote."""
    spec, _ = parse(cloud)
    if spec is None:
        return {}
    wanted = [each for each in wanted_services(spec) if each.declared.kind.kind in _VOTING]
    return {each.declared.kind.kind: context for each in wanted if (context := context_of(spec, each))}


def _of_service(declared: Service, old: Object, new: Object) -> Iterator[str]:
    try:
        before, after = (_context(declared, each) for each in (old, new))
    except ValidationError:
        return
    for _, index, chart, problem in _lowered(declared, before, after):
        yield f"spec.overrides[{index}].values.{chart}.{field_of(VOTING[chart])}: {problem}"


def _context(declared: Service, obj: Object) -> Context:
    spec = ServiceSpec.model_validate(obj.get("spec") or {})
    return Context(declared.name, "openstack", spec, {}, declared.settings.model_validate(spec.settings))


def _lowered(declared: Service, before: Context, after: Context) -> Iterator[tuple[ServiceSpec, int, str, str]]:
    """(spec and index of the override that is to blame, chart, what is wrong). A size alone is told elsewhere."""
    for chart in declared.charts:
        try:
            problem = fewer(chart, *(merged_values(declared, context, chart) for context in (before, after)))
        except ValueError:
            continue  # of an override that cannot be merged, which is told as such
        for spec in (after.spec, before.spec):
            if problem and (index := level(spec, chart)) is not None:
                yield spec, index, chart.name, problem
                break


def _of_bundle(old: Object, new: Object) -> Iterator[str]:
    try:
        before, after = (HelmBundleSpec.model_validate(each.get("spec") or {}).releases for each in (old, new))
    except ValidationError:
        return
    former = {(release.name, release.chart): release.values for release in before}
    for index, release in enumerate(after):
        chart, values = VOTING.get(release.chart), former.get((release.name, release.chart))
        if chart and values is not None and (problem := fewer(chart, values, release.values)):
            yield f"spec.releases[{index}].values.{field_of(chart)}: {problem}"
