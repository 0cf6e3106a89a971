"""A user's OpenStackDeployment, checked in full: at admission, by the CLI and again before each decision. Pure."""

from __future__ import annotations

from pydantic import ValidationError

from stackwright.api.deployment import OpenStackDeploymentSpec
from stackwright.api.errors import messages
from stackwright.controllers.cloud.objects import spec_errors
from stackwright.core.plan import Object


def parse(obj: Object) -> tuple[OpenStackDeploymentSpec | None, list[str]]:
    """The spec, or all that is wrong with it."""
    try:
        spec = OpenStackDeploymentSpec.model_validate(obj.get("spec") or {})
    except ValidationError as error:
        return None, messages(error, OpenStackDeploymentSpec)
    if errors := spec_errors(spec):
        return None, errors
    return spec, []
