"""Ceph: the storage of images, volumes and disks that must survive the loss of a node.

A cloud that lists `ceph` among its services runs a small Ceph of its own, for trial and tests. Any other cloud uses an
external Ceph (Rook, or machines without Kubernetes), and only the pod `ceph-watch` runs here: it connects with the keys
of each client and reports problems. In both cases clients and pools are requested and handed over by the same two
objects (`controllers/ceph`).
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
    """features.ceph, and whether the cloud runs its own Ceph."""

    trial: bool = Field(False, description="Run a small Ceph; without it, there is one elsewhere.")

    def exchange(self, namespace: str) -> str:
        """The namespace of the objects that are exchanged with the provider of Ceph."""
        return namespace if self.trial else self.shared_namespace


# OSDs may share a node where there may be fewer nodes than OSDs.
_ANYWHERE = {"affinity": {"anti": {"type": {"osd": "preferredDuringSchedulingIgnoredDuringExecution"}}}}


def monitors(context: Context) -> int:
    return 1 if context.spec.size == "single" else 3


def _values(context: Context) -> Values:
    settings, small = context.settings, context.spec.size == "single"
    osds = settings.osds or (1 if small else 3)
    return {
        "images": {"tags": {"ceph": context.image("ceph")}},
        "endpoints": {"cluster_domain_suffix": context.spec.cluster_domain},
        "labels": placed(CONTROL_PLANE, "mon", "mgr", "osd", "watch"),
        "pod": {"replicas": {"mon": monitors(context), "osd": osds}, **(_ANYWHERE if small or osds > 3 else {})},
        "volume": {"class_name": context.spec.storage_class, "size": "5Gi"},
        "osd": {"size": settings.osd_size},
        # One copy per OSD, at most three: a single copy is lost with its disk.
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
