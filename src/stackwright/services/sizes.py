"""Presets and sizes, as data: the services of a cloud, and the number and size of their pods."""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import Any

from stackwright.api.services.kinds import Size

_CORE = (
    "database", "messaging", "memcached", "identity",
    "ingress", "image", "placement", "networking", "compute", "dashboard",
)  # fmt: skip
# `compute` is `core` plus services of large clouds; more of these are added as Stackwright supports them.
PRESETS: dict[str, tuple[str, ...]] = {"core": _CORE, "compute": (*_CORE, "coordination", "block-storage")}


@dataclass(frozen=True)
class Sizing:
    """Pods of components, uWSGI workers of an API, memory (MiB), processors and volumes (GiB) of the infrastructure.

    Intended clouds: single is one node for trial and tests, tiny about 10 compute nodes, small 50, medium 300.
    """

    mariadb: int
    memcached: int
    keystone: int
    keystone_workers: int
    mariadb_buffer_pool: int
    mariadb_connections: int
    mariadb_arenas: int | None  # heaps shared by threads; None: glibc's default
    rabbitmq_memory: int
    rabbitmq_schedulers: int
    memcached_memory: int
    mariadb_volume: int
    rabbitmq_volume: int

    @property
    def mariadb_limit(self) -> int:
        """The buffer pool with page headers, the server with Galera's cache, and memory per connection."""
        return _rounded(self.mariadb_buffer_pool * 1.1 + 512 + self.mariadb_connections * 0.75)

    @property
    def rabbitmq_limit(self) -> int:
        """Publishers are blocked at the watermark; garbage collection and paging need half as much again."""
        return _rounded(self.rabbitmq_memory * 1.5)

    @property
    def memcached_limit(self) -> int:
        """Values, slab overhead, and 4096 connections."""
        return round(self.memcached_memory * 1.25) + 80


SIZES: dict[Size, Sizing] = {
    "single": Sizing(1, 1, 1, 2, 64, 500, 2, 512, 1, 64, 5, 1),
    "tiny": Sizing(3, 3, 3, 2, 1024, 2000, None, 1024, 2, 256, 20, 5),
    "small": Sizing(3, 3, 6, 2, 4096, 4000, None, 2048, 4, 1024, 50, 10),
    "medium": Sizing(3, 3, 15, 2, 16384, 8000, None, 8192, 8, 4096, 200, 20),
}

WORKER_MEMORY = 224  # MiB; largest size of an OpenStack service's worker
LEAST_LIMIT = 1024  # MiB; the default of the charts


def limits(**workers: int) -> dict[str, Any]:
    """`pod.resources` of a chart: component (`_` for `-`) → memory limit for its workers and their master process."""
    return {
        component.replace("_", "-"): {"limits": {"memory": f"{_rounded(WORKER_MEMORY * (1 + count), LEAST_LIMIT)}Mi"}}
        for component, count in workers.items()
    }


def memory(limit: int, request: int) -> dict[str, Any]:
    """Resources of a component, in MiB."""
    return {"requests": {"memory": f"{request}Mi"}, "limits": {"memory": f"{limit}Mi"}}


def _rounded(mebibytes: float, least: int = 0) -> int:
    return max(least, math.ceil(mebibytes / 256) * 256)
