"""Memcached: the cache that all services share; its content may be lost at any time."""

from __future__ import annotations

from stackwright.api.services.kinds import Memcached, ServiceSpec
from stackwright.services.declaration import CONTROL_PLANE, Chart, Context, Service, Values, placed
from stackwright.services.sizes import SIZES, memory

PORT = 11211


def replicas(spec: ServiceSpec) -> int:
    return spec.memcached_replicas or SIZES[spec.size].memcached


def servers(spec: ServiceSpec, namespace: str) -> list[str]:
    """Addresses of all instances, in the format of oslo.cache."""
    suffix = f"memcached.{namespace}.svc.{spec.cluster_domain}:{PORT}"
    return [f"memcached-{index}.{suffix}" for index in range(replicas(spec))]


def _values(context: Context) -> Values:
    size = SIZES[context.spec.size]
    return {
        "images": {"tags": {"memcached": context.image("memcached")}},
        "endpoints": {"cluster_domain_suffix": context.spec.cluster_domain},
        "labels": placed(CONTROL_PLANE, "server"),
        "pod": {
            "replicas": {"server": replicas(context.spec)},
            "resources": {"server": memory(size.memcached_limit, size.memcached_memory + 16)},
        },
        "conf": {"memcached": {"memory": size.memcached_memory}},
    }


SERVICE = Service(
    service="memcached",
    name="memcached",
    group="infra",
    resource=Memcached,
    charts=(Chart("memcached", _values),),
)
