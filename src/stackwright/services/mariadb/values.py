"""Values of MariaDB."""

from __future__ import annotations

from dataclasses import dataclass

from stackwright.api.services.kinds import Size
from stackwright.api.services.voters import VOTERS
from stackwright.services.context import CONTROL_PLANE, Context, Values, placed
from stackwright.services.sizes import memory, rounded

ROOT_SECRET = "mariadb-root"  # noqa: S105 - the name of a Secret
PORT = 3306
ROLE, PRIMARY = "mariadb-role", "primary"  # the label of the only server that accepts writes


@dataclass(frozen=True)
class Sizing:
    """Buffer pool (MiB); connections; heaps that threads share (None: glibc's default); volume (GiB)."""

    buffer_pool: int
    connections: int
    arenas: int | None
    volume: int

    @property
    def limit(self) -> int:
        """Memory of the buffer pool with page headers, of the server with Galera's cache, and of each connection."""
        return rounded(self.buffer_pool * 1.1 + 512 + self.connections * 0.75)


SIZES: dict[Size, Sizing] = {
    "single": Sizing(64, 500, 2, 5),
    "tiny": Sizing(1024, 2000, None, 20),
    "small": Sizing(4096, 4000, None, 50),
    "medium": Sizing(16384, 8000, None, 200),
}


def chart_values(context: Context) -> Values:
    size = SIZES[context.spec.size]
    return {
        "endpoints": {"cluster_domain_suffix": context.spec.cluster_domain},
        "labels": placed(CONTROL_PLANE, "server"),
        "pod": {
            "replicas": {"server": VOTERS[context.spec.size]},
            "resources": {"server": memory(size.limit, size.buffer_pool + 192)},
        },
        "volume": {"class_name": context.spec.storage_class, "size": f"{size.volume}Gi"},
        "secrets": {"oslo_db": {"root": ROOT_SECRET}},
        "conf": {
            "database": {"malloc_arenas": size.arenas},
            "mariadb": {
                "mysqld": {
                    "max_connections": size.connections,
                    "innodb_buffer_pool_size": f"{size.buffer_pool}M",
                    "innodb_flush_log_at_trx_commit": 1,
                    "innodb_doublewrite": 1,
                }
            },
        },
    }
