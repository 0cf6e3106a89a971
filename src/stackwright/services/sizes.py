"""Presets and sizes, as data: which services a cloud has, and how many and how large their pods are."""

from __future__ import annotations

from dataclasses import dataclass

from stackwright.api.services import Size

_CORE = (
    "database", "messaging", "memcached", "identity",
    "ingress", "image", "placement", "networking", "compute", "dashboard",
)  # fmt: skip
# `compute` is `core` with what large clouds add to it; those services join it here as Stackwright learns them.
PRESETS: dict[str, tuple[str, ...]] = {"core": _CORE, "compute": (*_CORE, "coordination", "block-storage")}


@dataclass(frozen=True)
class Sizing:
    """Pods of each component, uWSGI workers of an API, and memory of the infrastructure (MiB).

    The intended cloud: single is one node for trial and tests, tiny about 10 computes, small 50, medium 300.
    """

    mariadb: int
    memcached: int
    keystone: int
    keystone_workers: int
    mariadb_buffer_pool: int
    mariadb_connections: int
    mariadb_arenas: int | None  # heaps that threads share; as many as glibc likes if None
    rabbitmq_memory: int
    memcached_memory: int


SIZES: dict[Size, Sizing] = {
    "single": Sizing(1, 1, 1, 2, 64, 500, 2, 512, 64),
    "tiny": Sizing(3, 3, 3, 2, 1024, 2000, None, 1024, 256),
    "small": Sizing(3, 3, 6, 2, 4096, 4000, None, 2048, 1024),
    "medium": Sizing(3, 3, 15, 2, 16384, 8000, None, 8192, 4096),
}
