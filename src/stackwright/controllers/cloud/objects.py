"""Builds the service objects of a cloud from its spec. Pure."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

from stackwright.cloud.deployment import OpenStackDeploymentSpec
from stackwright.controllers.cloud.level import Level
from stackwright.controllers.cloud.overrides import overrides
from stackwright.controllers.cloud.selection import Wanted
from stackwright.controllers.cloud.settings import settings
from stackwright.core.objects import CLOUD, ORPHAN, annotation, owned
from stackwright.core.plan import Object


@dataclass(frozen=True)
class Refinement:
    """Additions to one service beyond the spec of the cloud.

    overrides  (level, chart → values)
    settings   settings that replace those of the spec;  fields  further fields of the ServiceSpec
    """

    overrides: Sequence[tuple[Level, Mapping[str, Any]]] = ()
    settings: Mapping[str, Any] = field(default_factory=dict)
    fields: Mapping[str, Any] = field(default_factory=dict)


def service_object(
    cloud: Object, spec: OpenStackDeploymentSpec, wanted: Wanted, more: Refinement | None = None
) -> Object:
    """The object of one service. Raises InvalidOverride."""
    declared = wanted.declared
    more = more or Refinement()
    levels = sorted([*overrides(spec, declared), *more.overrides], key=lambda each: each[0].rank)
    body: dict[str, Any] = {
        "release": spec.openstack_version,
        "size": spec.size,
        "region": spec.region_name,
        "clusterDomain": spec.internal_domain_name,
        "publicDomain": spec.public_domain_name,
        "storageClass": spec.local_volume_storage_class,
        "logLevel": spec.features.logging.level(declared),
        "settings": {**settings(spec, declared, wanted.cloud), **more.settings},
        "overrides": [{"source": str(level), "values": values} for level, values in levels if values],
        **more.fields,
    }
    if orphans := [name for owner, name in _orphans(cloud) if owner == declared.name]:
        body["orphan"] = orphans
    meta = cloud["metadata"]
    return owned(declared.kind, (meta["namespace"], wanted.name), cloud, body, {CLOUD: meta["name"]})


def _orphans(cloud: Object) -> list[tuple[str, str]]:
    """(service, back end) pairs that may be removed together with their content."""
    parts = [part.strip().partition("/") for part in annotation(cloud, ORPHAN).split(",")]
    return [(owner, name) for owner, _, name in parts if name]
