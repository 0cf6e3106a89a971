"""The services of a cloud: those of its preset and its features, and those that these require. Pure."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field

from pydantic import ValidationError

from stackwright.cloud.deployment import OpenStackDeploymentSpec
from stackwright.controllers.cloud.settings import buses, cloud_of, requested, settings
from stackwright.services.cloud import Cloud
from stackwright.services.declaration import Service
from stackwright.services.rabbitmq import SERVICE as BUS
from stackwright.services.registry import BY_SERVICE


@dataclass(frozen=True)
class Wanted:
    """One service object of a cloud: its service, its name, and its cloud."""

    declared: Service
    name: str
    cloud: Cloud = field(compare=False)

    @property
    def key(self) -> tuple[str, str]:
        return self.declared.kind.kind, self.name


def wanted_services(spec: OpenStackDeploymentSpec) -> list[Wanted]:
    """Services of the preset, plus those added in features.services, minus those removed there (~name)."""
    names = wanted_names(spec)
    cloud = cloud_of(spec, names)
    found = []
    for name in names:
        declared = BY_SERVICE[name]
        found.append(Wanted(declared, declared.name, cloud))
        if declared is BUS:
            found += [Wanted(BUS, f"{owner}-rabbitmq", cloud) for owner in buses(spec, names)]
    return found


def wanted_names(spec: OpenStackDeploymentSpec) -> list[str]:
    """Requested services and their requirements; a service removed by ~name is not added again."""
    names = requested(spec)
    removed = spec.features.removed
    while added := next((need for need in _required(spec, names) if need not in {*names, *removed}), None):
        names.append(added)
    return sorted(names, key=list(BY_SERVICE).index)


def lost_needs(spec: OpenStackDeploymentSpec) -> dict[str, list[str]]:
    """Service removed by ~name → services that require it."""
    removed = spec.features.removed
    names = wanted_names(spec) if removed else []
    found = {lost: [name for name in names if lost in _required(spec, [name], names)] for lost in removed}
    return {lost: users for lost, users in sorted(found.items()) if users}


def _required(spec: OpenStackDeploymentSpec, names: Sequence[str], among: Sequence[str] = ()) -> Iterator[str]:
    """The services that `names` require; `among` lists all services of the cloud if `names` is a part of them."""
    cloud = cloud_of(spec, among or names)
    for name in names:
        declared = BY_SERVICE[name]
        if declared.requires is None:
            continue
        try:
            parsed = declared.settings.model_validate(settings(spec, declared, cloud))
        except ValidationError:
            continue  # reported when the spec is validated
        yield from declared.requires(parsed)
