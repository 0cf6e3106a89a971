"""Values of Memcached, and the addresses of its servers."""

from __future__ import annotations

from dataclasses import dataclass

from stackwright.api.services.kinds import ServiceSpec, Size
from stackwright.services.context import CONTROL_PLANE, Context, Values, placed
from stackwright.services.sizes import memory

PORT = 11211


@dataclass(frozen=True)
class Sizing:
    """Servers, and the memory of each (MiB)."""

    servers: int
    memory: int

    @property
    def limit(self) -> int:
        """Memory of values, slab overhead, and 4096 connections."""
        return round(self.memory * 1.25) + 80


SIZES: dict[Size, Sizing] = {
    "single": Sizing(1, 64),
    "tiny": Sizing(3, 256),
    "small": Sizing(3, 1024),
    "medium": Sizing(3, 4096),
}


def replicas(spec: ServiceSpec) -> int:
    return spec.memcached_replicas or SIZES[spec.size].servers


def servers(spec: ServiceSpec, namespace: str) -> list[str]:
    """Addresses of all instances, in the format of oslo.cache."""
    suffix = f"memcached.{namespace}.svc.{spec.cluster_domain}:{PORT}"
    return [f"memcached-{index}.{suffix}" for index in range(replicas(spec))]


def chart_values(context: Context) -> Values:
    size = SIZES[context.spec.size]
    return {
        "endpoints": {"cluster_domain_suffix": context.spec.cluster_domain},
        "labels": placed(CONTROL_PLANE, "server"),
        "pod": {
            "replicas": {"server": replicas(context.spec)},
            "resources": {"server": memory(size.limit, size.memory + 16)},
        },
        "conf": {"memcached": {"memory": size.memory}},
    }
