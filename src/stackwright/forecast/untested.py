"""Finds values that no test uses in a real cloud: `plan` notes them, `apply` and `up -f` warn. Pure."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from contextlib import suppress

from pydantic import ValidationError

from stackwright.api.meta import Kind
from stackwright.cloud.controlplane import OpenStackControlPlane, OpenStackControlPlaneSpec
from stackwright.cloud.deployment import OpenStackDeployment, OpenStackDeploymentSpec
from stackwright.cloud.support import Untested, untested, untested_settings
from stackwright.controllers.cloud.selection import wanted_services
from stackwright.controllers.cloud.settings import settings
from stackwright.controllers.controlplane.objects import deployment
from stackwright.core.plan import Object
from stackwright.forecast.entries import Entry, unproven
from stackwright.services.registry import SERVICES

BY_KIND = {declared.kind: declared for declared in SERVICES}


def untested_values(objects: Iterable[tuple[Kind, Object]]) -> list[Entry]:
    found = list[Untested]()
    for kind, obj in objects:
        with suppress(ValidationError):  # a spec of an older version, or an invalid one
            found += _untested(kind, obj)
    return unproven(found)


def _untested(kind: Kind, obj: Object) -> Iterator[Untested]:
    spec = obj.get("spec") or {}
    if kind == OpenStackDeployment.KIND:
        yield from untested(OpenStackDeploymentSpec.model_validate(spec))
    elif kind == OpenStackControlPlane.KIND:
        whole = deployment(OpenStackControlPlaneSpec.model_validate(spec))
        for each in wanted_services(whole):
            given = settings(whole, each.declared, each.cloud)
            yield from untested_settings(each.declared.name, each.declared.settings.model_validate(given))
    elif declared := BY_KIND.get(kind):
        yield from untested_settings(declared.name, declared.settings.model_validate(spec.get("settings") or {}))
