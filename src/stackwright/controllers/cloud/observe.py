"""What the cloud controller sees: the OpenStackDeployment, others beside it, and the service objects it owns."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field

from stackwright.api.deployment import OpenStackDeployment
from stackwright.api.registry import SERVICE_KINDS
from stackwright.core.plan import Key, Object
from stackwright.core.ports import Reader


@dataclass(frozen=True)
class Observed:
    """others    names of the OpenStackDeployments in the namespace that were there first
    services  (kind, name) → object, of all service kinds in the namespace
    """

    obj: Object
    others: tuple[str, ...] = ()
    services: Mapping[tuple[str, str], Object] = field(default_factory=dict)


async def observe(reader: Reader, key: Key, now: float) -> Observed | None:
    obj = await reader.get(OpenStackDeployment.KIND, key)
    if obj is None:
        return None
    clouds = await reader.list(OpenStackDeployment.KIND, key[0])
    others = [cloud["metadata"]["name"] for cloud in sorted(clouds, key=_age) if _age(cloud) < _age(obj)]
    services = {}
    for resource in SERVICE_KINDS:
        for found in await reader.list(resource.KIND, key[0]):
            services[resource.KIND.kind, found["metadata"]["name"]] = found
    return Observed(obj, tuple(others), services)


def _age(cloud: Object) -> tuple[str, str]:
    return str(cloud["metadata"].get("creationTimestamp", "")), cloud["metadata"]["name"]
