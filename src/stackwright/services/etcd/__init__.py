"""etcd: locks shared by all processes of a service, so that several processes can work on the same resources.

Members and clients authenticate only by certificates from the cloud's own CA.
"""

from __future__ import annotations

from stackwright.services.declaration import Chart, Listener, Service
from stackwright.services.etcd.kind import Etcd
from stackwright.services.etcd.values import PORT, certificates, chart_values
from stackwright.services.tested import IN_CEPH, service

__all__ = ["SERVICE"]

SERVICE = Service(
    service="coordination",
    name="etcd",
    group="infra",
    resource=Etcd,
    charts=(
        Chart(
            "etcd",
            chart_values,
            images=lambda settings: {"etcd": "etcd"},
            claims=("server",),
            voters="server",
            listens=(
                Listener("server", (PORT,), name="etcd"),
                Listener("server", (2379, 2380, 2381, 2382), sources=("etcd",)),
            ),
        ),
    ),
    certificates=certificates,
    presets=("compute",),
    tested={"features.services": service("coordination", IN_CEPH)},
)
