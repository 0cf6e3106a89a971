"""Ceph: the storage of images, volumes and disks that must survive the loss of a node.

A cloud with `ceph` among its services runs its own small Ceph, for trial and tests. Any other cloud uses an external
Ceph (Rook, or machines without Kubernetes), and only the pod `ceph-watch` runs here: it connects with the keys of each
client and reports problems. In both cases the same two objects contain the requested clients and pools, and the
credentials for them (`controllers/ceph`).
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
            # Its daemons choose their ports.
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
