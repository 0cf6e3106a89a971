"""Complete validation of an OpenStackDeployment, for admission, the CLI and each decision. Pure."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from pydantic import ValidationError

from stackwright.api.errors import bounded, messages
from stackwright.api.services.kinds import OPENSTACK_RELEASE
from stackwright.cloud.deployment import OpenStackDeploymentSpec
from stackwright.controllers.cloud.overrides import spec_errors
from stackwright.controllers.cloud.selection import lost_needs, wanted_names
from stackwright.controllers.cloud.settings import cloud_of, settings
from stackwright.core.plan import Object
from stackwright.services.registry import SERVICES

_REQUIRED = {"openstack_version": OPENSTACK_RELEASE, "preset": "core", "size": "tiny"}


def parse(obj: Object) -> tuple[OpenStackDeploymentSpec | None, list[str]]:
    """The spec, or all its errors."""
    raw = obj.get("spec") or {}
    try:
        spec = OpenStackDeploymentSpec.model_validate(raw)
    except ValidationError as error:
        return None, bounded([*messages(error, OpenStackDeploymentSpec), *_override_errors(raw, error)])
    if errors := [*spec_errors(spec), *_settings_errors(spec), *_lost_needs(spec)]:
        return None, errors
    return spec, []


def _override_errors(raw: Any, error: ValidationError) -> list[str]:
    """Errors of the overrides in a spec with errors in other fields, which do not affect them."""
    wrong = {item["loc"][0] for item in error.errors(include_url=False) if item["loc"]}
    if not isinstance(raw, Mapping) or not wrong:
        return []
    rest = {name: value for name, value in raw.items() if name not in wrong}
    return spec_errors(OpenStackDeploymentSpec.model_validate(_REQUIRED | rest))


def _lost_needs(spec: OpenStackDeploymentSpec) -> list[str]:
    """Errors for removed services that other services of the cloud require."""
    return [
        f"spec.features.services: ~{name} removes a service that {', '.join(users)} requires; "
        f"delete ~{name}, or remove these services, too"
        for name, users in lost_needs(spec).items()
    ]


def _settings_errors(spec: OpenStackDeploymentSpec) -> list[str]:
    """Errors of a service's settings that the model of the features cannot detect."""
    errors: list[str] = []
    cloud = cloud_of(spec, wanted_names(spec))
    for declared in SERVICES:
        try:
            declared.settings.model_validate(settings(spec, declared, cloud))
        except ValidationError as error:
            errors += messages(error, declared.settings, f"spec.features.{declared.name}")
    return errors
