"""Validation of an object of our kinds, for admission, `plan` and `apply`; reports all errors at once. Pure."""

from __future__ import annotations

import json
from typing import Any

from pydantic import ValidationError

from stackwright.admission.voters import voter_errors
from stackwright.api.errors import bounded, messages, path_text, printable
from stackwright.api.services.helmbundle import HelmBundle
from stackwright.cloud.controlplane import OpenStackControlPlane
from stackwright.cloud.deployment import OpenStackDeployment
from stackwright.cloud.immutability import update_errors
from stackwright.cloud.registry import BY_KIND, SERVICE_KINDS
from stackwright.controllers.cloud.charts import chart_errors
from stackwright.controllers.cloud.validate import parse as parse_deployment
from stackwright.controllers.controlplane.validate import parse as parse_control_plane
from stackwright.controllers.controlplane.validate import stage_errors
from stackwright.controllers.helmbundle.validate import errors_of as helmbundle_errors
from stackwright.core.bounds import DEEPEST, LONGEST_NAME, VALUES, has_more, is_deeper, with_long_name
from stackwright.core.helm.chart_schema import Schemas, values_errors
from stackwright.core.plan import Object
from stackwright.core.settings import Settings

# Cluster API's topology controller sets this annotation on a dry run that checks whether a change needs another
# template.
TOPOLOGY = "topology.cluster.x-k8s.io/dry-run"
_SERVICES = {resource.KIND.kind for resource in SERVICE_KINDS}


def errors_of(
    obj: Object, old: Object | None = None, dry_run: bool = False, settings: Settings | None = None
) -> list[str]:
    """All errors of an object; empty for a kind that is not ours. `old` is the stored object of an update.

    settings  what the operator permits, and the charts that it ships with their schemas; None if these are unknown
    """
    if old is not None and _is_same(old.get("spec"), obj.get("spec")):
        # An earlier version may have stored a spec that is invalid now; labels and finalizers may still change.
        return bounded(map(printable, _metadata_errors(obj)))
    if has_more(obj.get("spec")):
        return [f"spec: must have at most {VALUES} values"]
    if is_deeper(obj.get("spec")):
        return [f"spec: must have at most {DEEPEST} levels"]
    if (path := with_long_name(obj.get("spec"))) is not None:
        return [f"{path_text(path, 'spec')}: names of fields must have at most {LONGEST_NAME} characters"]
    asks_only = dry_run and TOPOLOGY in (obj["metadata"].get("annotations") or {})
    # A spec that an earlier version stored may be larger, and is not compared. Controllers also check changes.
    changes = [] if old is None or asks_only or has_more(old.get("spec")) else change_errors(old, obj)
    return bounded(printable(error) for error in [*_errors(obj, settings), *changes])


def change_errors(old: Object, new: Object) -> list[str]:
    """Errors for immutable fields that an update changes."""
    return [*update_errors(old, new), *voter_errors(old, new)]


def _is_same(old: Any, new: Any) -> bool:
    """Compares as JSON, in which 1, 1.0 and true differ."""
    return bool(old == new) and json.dumps(old, sort_keys=True) == json.dumps(new, sort_keys=True)


def _metadata_errors(obj: Object) -> list[str]:
    return stage_errors(obj) if obj.get("kind") == OpenStackControlPlane.KIND.kind else []


def _errors(obj: Object, settings: Settings | None) -> list[str]:
    match str(obj.get("kind")):
        case OpenStackDeployment.KIND.kind:
            spec, errors = parse_deployment(obj)
            return errors if spec is None or settings is None else chart_errors(spec, settings.schemas)
        case OpenStackControlPlane.KIND.kind:
            return parse_control_plane(obj)[1]
        case HelmBundle.KIND.kind:
            errors = helmbundle_errors(obj, settings)
        case name if name in BY_KIND:
            errors = _model_errors(obj, BY_KIND[name].model_fields["spec"].annotation)
        case _:
            return []
    return errors if errors or settings is None else _values_errors(obj, settings.schemas)


def _model_errors(obj: Object, model: Any) -> list[str]:
    spec = obj.get("spec")
    try:
        model.model_validate({} if spec is None else spec)
    except ValidationError as error:
        return messages(error, model)
    return []


def _values_errors(obj: Object, schemas: Schemas) -> list[str]:
    """Errors of the charts' schemas for values in a HelmBundle or service object that is valid otherwise."""
    kind, spec = str(obj.get("kind")), obj.get("spec") or {}
    if kind == HelmBundle.KIND.kind:
        given = [
            (release["chart"], release.get("values") or {}, f"spec.releases[{index}].values")
            for index, release in enumerate(spec["releases"])
        ]
    elif kind in _SERVICES:
        given = [
            (chart, values, f"spec.overrides[{index}].values.{chart}")
            for index, override in enumerate(spec.get("overrides") or ())
            for chart, values in (override.get("values") or {}).items()
        ]
    else:
        given = []
    return [error for chart, values, where in given for error in values_errors(schemas, chart, values, where)]
