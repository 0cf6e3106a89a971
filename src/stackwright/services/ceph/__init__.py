"""Ceph: the storage of images, volumes and disks that must survive the loss of a node.

A cloud that lists `ceph` among its services runs a small Ceph of its own, for trial and tests. Any other cloud uses an
external Ceph (Rook, or machines without Kubernetes), and only the pod `ceph-watch` runs here: it connects with the keys
of each client and reports problems. In both cases clients and pools are requested and handed over by the same two
objects (`controllers/ceph`).
"""

from __future__ import annotations

from stackwright.services.ceph.features import CephFeatures, CephSettings
from stackwright.services.ceph.kind import Ceph
from stackwright.services.ceph.values import CONDITIONS, EXCHANGE, chart_values, secrets
from stackwright.services.declaration import Chart, Features, Listener, Service
from stackwright.services.tested import IN_CEPH, service

__all__ = ["SERVICE"]

SERVICE = Service(
    service="ceph",
    name="ceph",
    group="infra",
    resource=Ceph,
    charts=(
        Chart(
            "ceph",
            chart_values,
            images=lambda settings: {"ceph": "ceph"},
            claims=("mon",),
            voters="mon",
            options=("ceph",),
            # Its daemons listen on ports that they choose themselves.
            listens=(
                *(Listener(component, name="ceph") for component in ("mon", "mgr", "osd")),
                *(Listener(client) for client in ("watch", "provide")),
            ),
            calls=("ceph",),
        ),
    ),
    secrets=secrets,
    settings=CephSettings,
    features=Features(CephFeatures, "Storage in Ceph."),
    from_cloud=lambda cloud: {"trial": "ceph" in cloud.requested},
    external_conditions=(EXCHANGE, *CONDITIONS),
    tested={"features.services": service("ceph", IN_CEPH)},
)
