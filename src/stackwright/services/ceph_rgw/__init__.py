"""Object storage: the Ceph gateway, which serves Swift and S3 and authenticates users at Keystone.

The gateway of the cloud's own Ceph runs here. An external Ceph runs its own gateway: it gets the user for requests to
Keystone (`controllers/ceph`) and returns its URLs in the Secret with its keys; the catalog contains these URLs.
"""

from __future__ import annotations

from stackwright.services.ceph.values import GATEWAY
from stackwright.services.ceph_rgw.kind import CephRGW
from stackwright.services.ceph_rgw.values import HOST, PORT, CephRGWSettings, chart_values, contracts, missing_addresses
from stackwright.services.declaration import INGRESS, Chart, Listener, Public, Service
from stackwright.services.tested import service

__all__ = ["SERVICE"]

SERVICE = Service(
    service="object-storage",
    name="ceph-rgw",
    group="openstack",
    resource=CephRGW,
    charts=(
        Chart(
            "ceph-rgw",
            chart_values,
            images=lambda settings: {"ceph_rgw": "ceph"},
            wanted=lambda settings: settings.trial,
            options=("ceph",),
            listens=(Listener("api", (PORT,), name="ceph-rgw", sources=("horizon", "keystoneclient", INGRESS)),),
            calls=("memcached", "keystone", "ceph"),
        ),
    ),
    contracts=contracts,
    settings=CephRGWSettings,
    from_cloud=lambda cloud: {"trial": "ceph" in cloud.requested},
    requires=lambda settings: ("identity", "ceph"),
    facts=GATEWAY,
    missing_facts=missing_addresses,
    public=(Public(HOST),),
    tested={"features.services": service("object-storage", "test_objects_by_the_openstack_command")},
)
