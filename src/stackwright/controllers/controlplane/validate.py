"""Complete validation of an OpenStackControlPlane, for admission and each decision. Pure."""

from __future__ import annotations

from pydantic import ValidationError

from stackwright.api.errors import messages, repeatable
from stackwright.cloud.controlplane import INFRASTRUCTURE_ONLY, STAGE, OpenStackControlPlaneSpec
from stackwright.core.plan import Object


def parse(obj: Object) -> tuple[OpenStackControlPlaneSpec | None, list[str]]:
    """The spec, or all errors of the object."""
    errors = stage_errors(obj)
    try:
        spec = OpenStackControlPlaneSpec.model_validate(obj.get("spec") or {})
    except ValidationError as error:
        return None, [*errors, *messages(error, OpenStackControlPlaneSpec)]
    return (None, errors) if errors else (spec, [])


def stage_errors(obj: Object) -> list[str]:
    """Errors of the annotation, the only input outside the spec."""
    notes = (obj.get("metadata") or {}).get("annotations")
    stage = notes.get(STAGE, "") if isinstance(notes, dict) else ""
    if stage in ("", INFRASTRUCTURE_ONLY):
        return []
    shown = repr(stage) if repeatable((STAGE,), stage) else "the value"
    return [f"metadata.annotations.{STAGE}: {shown} is not allowed; allowed: {INFRASTRUCTURE_ONLY}"]
