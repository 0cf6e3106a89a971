"""MariaDB: the Galera cluster with the databases of all services.

Durability does not depend on the size: InnoDB always flushes at each commit and keeps its doublewrite buffer. The
`mariadb` Service selects only the pod that the primary controller labels.
"""

from __future__ import annotations

from stackwright.api.services.kinds import MariaDB
from stackwright.services.declaration import CONTROL_PLANE, Chart, Context, Secret, Service, Values, placed
from stackwright.services.sizes import SIZES, memory

ROOT_SECRET = "mariadb-root"  # noqa: S105 - the name of a Secret
PORT = 3306
ROLE, PRIMARY = "mariadb-role", "primary"  # the label of the one server that takes writes


def _values(context: Context) -> Values:
    size = SIZES[context.spec.size]
    return {
        "images": {"tags": {"mariadb": context.image("mariadb")}},
        "endpoints": {"cluster_domain_suffix": context.spec.cluster_domain},
        "labels": placed(CONTROL_PLANE, "server"),
        "pod": {
            "replicas": {"server": size.mariadb},
            "resources": {"server": memory(size.mariadb_limit, size.mariadb_buffer_pool + 192)},
        },
        "volume": {"class_name": context.spec.storage_class, "size": f"{size.mariadb_volume}Gi"},
        "secrets": {"oslo_db": {"root": ROOT_SECRET}},
        "conf": {
            "database": {"malloc_arenas": size.mariadb_arenas},
            "mariadb": {
                "mysqld": {
                    "max_connections": size.mariadb_connections,
                    "innodb_buffer_pool_size": f"{size.mariadb_buffer_pool}M",
                    "innodb_flush_log_at_trx_commit": 1,
                    "innodb_doublewrite": 1,
                }
            },
        },
    }


SERVICE = Service(
    service="database",
    name="mariadb",
    group="infra",
    resource=MariaDB,
    charts=(Chart("mariadb", _values, claims=("server",), voters="server", receives=True, options=("mariadb",)),),
    secrets=lambda context: (Secret(ROOT_SECRET, fixed={"username": "root"}),),
    serves={"component": "server", ROLE: PRIMARY},
)
