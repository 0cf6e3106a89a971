"""MariaDB: the Galera cluster with the databases of all services.

Durability is the same at every size: InnoDB always flushes at each commit and keeps its doublewrite buffer. The
`mariadb` Service selects only the pod that the primary controller labels.
"""

from __future__ import annotations

from stackwright.services.declaration import OPERATOR, Chart, Listener, Secret, Service
from stackwright.services.mariadb.kind import MariaDB
from stackwright.services.mariadb.values import PRIMARY, ROLE, ROOT_SECRET, chart_values
from stackwright.services.tested import UP, service

__all__ = ["SERVICE"]

SERVICE = Service(
    service="database",
    name="mariadb",
    group="infra",
    resource=MariaDB,
    charts=(
        Chart(
            "mariadb",
            chart_values,
            images=lambda settings: {"mariadb": "mariadb"},
            claims=("server",),
            voters="server",
            receives=True,
            options=("mariadb",),
            listens=(
                Listener("server", (3306,), name="mariadb", sources=(OPERATOR,)),
                Listener("server", (3306, 4444, 4567, 4568, 4569), sources=("mariadb",)),
            ),
        ),
    ),
    secrets=lambda context: (Secret(ROOT_SECRET, fixed={"username": "root"}),),
    serves={"component": "server", ROLE: PRIMARY},
    presets=("core", "compute"),
    section="galera",
    tested={"features.services": service("database", UP)},
)
