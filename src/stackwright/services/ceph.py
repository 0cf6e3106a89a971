"""Ceph: where images, volumes and disks are kept that must outlive a node.

A cloud that lists `ceph` among its services gets a small one of its own, for trial and tests. Every other one has its
Ceph elsewhere (Rook, or machines without Kubernetes), and here is only the watch over it: a pod that looks at it with
the keys of each client and tells what is wrong. Either way clients and pools are asked for, and handed over, by the
same two objects (`controllers/ceph`).
"""

from __future__ import annotations

from pydantic import Field

from stackwright.api.cloud.features_storage import CephFeatures
from stackwright.api.services.kinds import Ceph
from stackwright.services.declaration import CONTROL_PLANE, Chart, Context, Secret, Service, Settings, Values, placed
from stackwright.services.needs import ceph_secret

ADMIN_SECRET = "ceph-admin"  # noqa: S105 - the name of a Secret
KEYS = "openstack-ceph-keys"
REQUESTS = "openstack-ceph-requests"
GATEWAY_CREDENTIALS = "openstack-rgw-creds"
HEALTH = "ceph-health"
GATEWAY = "ceph-gateway"  # ConfigMap with the URLs of an external gateway
GATEWAY_URLS = ("rgw_internal", "rgw_external")
CLIENTS = ("glance", "cinder", "nova")
EXCHANGE = "Exchange"
CONDITIONS = ("Monitors", "Keys", "Pools", "Capacity")


class CephSettings(CephFeatures, Settings):
    """features.ceph, and whose Ceph it is."""

    trial: bool = Field(False, description="Run a small Ceph; without it, there is one elsewhere.")

    def exchange(self, namespace: str) -> str:
        """The namespace in which requests and keys are exchanged with the Ceph."""
        return namespace if self.trial else self.shared_namespace


def monitors(context: Context) -> int:
    return 1 if context.spec.size == "single" else 3


def _values(context: Context) -> Values:
    settings, small = context.settings, context.spec.size == "single"
    osds = settings.osds or (1 if small else 3)
    return {
        "images": {"tags": {"ceph": context.image("ceph")}},
        "endpoints": {"cluster_domain_suffix": context.spec.cluster_domain},
        "labels": placed(CONTROL_PLANE, "mon", "mgr", "osd", "watch"),
        "pod": {"replicas": {"mon": monitors(context), "osd": osds}},
        "volume": {"class_name": context.spec.storage_class, "size": "5Gi"},
        "osd": {"size": settings.osd_size},
        # As many copies as there are OSDs, three at most: a single one keeps nothing that its disk loses.
        "pool": {"size": min(osds, 3)},
        "secrets": {"ceph": {"admin": ADMIN_SECRET}, "clients": [ceph_secret(name) for name in CLIENTS]},
        "trial": settings.trial,
    }


def _secrets(context: Context) -> tuple[Secret, ...]:
    return (Secret(ADMIN_SECRET),) if context.settings.trial else ()


SERVICE = Service(
    service="ceph",
    name="ceph",
    group="infra",
    resource=Ceph,
    charts=(Chart("ceph", _values, claims=("mon",), voters="mon", options=("ceph",)),),
    secrets=_secrets,
    settings=CephSettings,
    watched=(EXCHANGE, *CONDITIONS),
)
