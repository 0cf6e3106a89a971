"""A user's OpenStackDeployment, checked in full: at admission, by the CLI and again before each decision. Pure."""

from __future__ import annotations

from pydantic import ValidationError

from stackwright.api.cloud.deployment import OpenStackDeploymentSpec
from stackwright.api.errors import messages
from stackwright.controllers.cloud.objects import lost_needs, settings, spec_errors, wanted_names
from stackwright.core.plan import Object
from stackwright.services.registry import SERVICES


def parse(obj: Object) -> tuple[OpenStackDeploymentSpec | None, list[str]]:
    """The spec, or all that is wrong with it."""
    try:
        spec = OpenStackDeploymentSpec.model_validate(obj.get("spec") or {})
    except ValidationError as error:
        return None, messages(error, OpenStackDeploymentSpec)
    if errors := [*spec_errors(spec), *_settings_errors(spec), *_lost_needs(spec)]:
        return None, errors
    return spec, []


def _lost_needs(spec: OpenStackDeploymentSpec) -> list[str]:
    """Services that are taken away although others, which stay, cannot be without them."""
    return [
        f"spec.features.services: ~{name} takes away what {', '.join(users)} cannot be without; "
        f"remove ~{name}, or take these away too"
        for name, users in lost_needs(spec).items()
    ]


def _settings_errors(spec: OpenStackDeploymentSpec) -> list[str]:
    """What a service has against its settings, beyond what the model of the features can tell."""
    errors: list[str] = []
    names = wanted_names(spec)
    for declared in SERVICES:
        try:
            declared.settings.model_validate(settings(spec, declared, names))
        except ValidationError as error:
            errors += messages(error, declared.settings, f"spec.features.{declared.name}")
    return errors
