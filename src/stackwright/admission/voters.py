"""Errors of an update that reduces the number of voting servers: (stored object, new object) → errors. Pure.

`cloud/immutability.py` checks sizes; this module checks overrides, which are only known after all levels are merged.
"""

from __future__ import annotations

from collections.abc import Iterator

from pydantic import ValidationError

from stackwright.api.services.helmbundle import HelmBundle, HelmBundleSpec
from stackwright.cloud.deployment import OpenStackDeployment
from stackwright.controllers.cloud.charts import service_objects
from stackwright.controllers.cloud.validate import parse
from stackwright.controllers.cloud.voters import level_errors
from stackwright.core.plan import Object
from stackwright.services.declaration import Service
from stackwright.services.registry import SERVICES, VOTING
from stackwright.services.voters import override_errors, release_errors

_VOTING = {each.kind.kind: each for each in SERVICES if any(chart.name in VOTING for chart in each.charts)}
KINDS = {OpenStackDeployment.KIND, HelmBundle.KIND, *(each.kind for each in _VOTING.values())}


def voter_errors(old: Object, new: Object) -> list[str]:
    """One line for each error; empty for objects that are invalid for other reasons."""
    match str(new.get("kind")):
        case OpenStackDeployment.KIND.kind:
            return list(_of_cloud(old, new))
        case HelmBundle.KIND.kind:
            return list(_of_bundle(old, new))
        case kind if kind in _VOTING:
            return list(_of_service(_VOTING[kind], old, new))
    return []


def _of_cloud(old: Object, new: Object) -> Iterator[str]:
    before, after = _services(old), _services(new)
    for kind in sorted(before.keys() & after.keys()):
        yield from level_errors(_VOTING[kind], before[kind], after[kind])


def _services(cloud: Object) -> dict[str, Object]:
    """Kind → object, for the services of the cloud that have voting servers."""
    spec, _ = parse(cloud)
    found = service_objects(spec) if spec else []
    return {each.key[0]: thing for each, thing in found if each.key[0] in _VOTING}


def _of_service(declared: Service, old: Object, new: Object) -> Iterator[str]:
    for _, index, chart, problem in override_errors(declared, old, new):
        yield f"spec.overrides[{index}].values.{chart.name}.{chart.voters_field}: {problem}"


def _of_bundle(old: Object, new: Object) -> Iterator[str]:
    try:
        for each in (old, new):
            HelmBundleSpec.model_validate(each.get("spec"))
    except ValidationError:
        return
    for index, chart, problem in release_errors(*(each["spec"]["releases"] for each in (old, new))):
        yield f"spec.releases[{index}].values.{chart.voters_field}: {problem}"
