"""The settings of the services of a cloud: their features, and facts about the surrounding cloud. Pure."""

from __future__ import annotations

from collections.abc import Collection
from typing import Any

from stackwright.cloud.deployment import OpenStackDeploymentSpec
from stackwright.services.cloud import Cloud
from stackwright.services.declaration import Service, set_fields
from stackwright.services.registry import BY_SERVICE, PRESETS, SERVICES


def requested(spec: OpenStackDeploymentSpec) -> list[str]:
    """Services that the preset or the user names, without those that these require."""
    removed = spec.features.removed
    kept = [name for name in PRESETS[spec.preset] if name not in removed]
    return list(dict.fromkeys([*kept, *spec.features.added]))


def buses(spec: OpenStackDeploymentSpec, names: Collection[str]) -> list[str]:
    """Names of the services with a RabbitMQ of their own."""
    own = spec.features.messaging.components_with_dedicated_messaging
    return [BY_SERVICE[service].name for service in own if service in names]


def cloud_of(spec: OpenStackDeploymentSpec, names: Collection[str]) -> Cloud:
    """The facts about a cloud with these services that their settings may use."""
    features, cleanup = spec.features, spec.features.database.cleanup
    changed = cleanup.model_fields_set
    return Cloud(
        services=tuple(names),
        requested=tuple(requested(spec)),
        network_policies=features.network_policies.enabled,
        storage_class=spec.persistent_volume_storage_class,
        audit=features.logging.audit,
        buses=frozenset(buses(spec, names)),
        cleanups={each.name: set_fields(cleanup.of(each)) for each in SERVICES if each.name in changed},
    )


def settings(spec: OpenStackDeploymentSpec, declared: Service, cloud: Cloud) -> dict[str, Any]:
    """The settings of one service; settings without a value get their defaults."""
    features = spec.features.of(declared)
    found = declared.features.settings(features, cloud) if declared.features else {}
    around = {
        "ingress": "ingress" in cloud.services,
        "network_policies": cloud.network_policies,
        **declared.from_cloud(cloud),
    }
    return found | {name: value for name, value in around.items() if value}
