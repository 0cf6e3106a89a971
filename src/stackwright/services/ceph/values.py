"""Values of Ceph, and the names of the objects of the exchange with its provider."""

from __future__ import annotations

from stackwright.api.services.voters import VOTERS
from stackwright.services.ceph.clients import ceph_secret
from stackwright.services.context import CONTROL_PLANE, Context, Values, placed
from stackwright.services.declaration import Secret

ADMIN_SECRET = "ceph-admin"  # noqa: S105 - the name of a Secret
KEYS = "openstack-ceph-keys"
REQUESTS = "openstack-ceph-requests"
GATEWAY_CREDENTIALS = "openstack-rgw-creds"
HEALTH = "ceph-health"
GATEWAY = "ceph-gateway"  # ConfigMap with the URLs of an external gateway
GATEWAY_URLS = ("rgw_internal", "rgw_external")
EXCHANGE = "Exchange"
CONDITIONS = ("Monitors", "Keys", "Pools", "Capacity")


def monitors(context: Context) -> int:
    return VOTERS[context.spec.size]


def clients() -> list[str]:
    """Names of the services with data in Ceph."""
    from stackwright.services.registry import SERVICES  # imported here, because it imports this module

    return [declared.name for declared in SERVICES if any(chart.in_ceph for chart in declared.charts)]


# OSDs may share a node where the cluster may have fewer nodes than OSDs.
_ANYWHERE = {"affinity": {"anti": {"type": {"osd": "preferredDuringSchedulingIgnoredDuringExecution"}}}}


def chart_values(context: Context) -> Values:
    settings, small = context.settings, context.spec.size == "single"
    osds = settings.osds or (1 if small else 3)
    return {
        "endpoints": {"cluster_domain_suffix": context.spec.cluster_domain},
        "labels": placed(CONTROL_PLANE, "mon", "mgr", "osd", "watch"),
        "pod": {"replicas": {"mon": monitors(context), "osd": osds}, **(_ANYWHERE if small or osds > 3 else {})},
        "volume": {"class_name": context.spec.storage_class, "size": "5Gi"},
        "osd": {"size": settings.osd_size},
        # One copy per OSD, at most three: a single copy is lost with its disk.
        "pool": {"size": min(osds, 3)},
        "secrets": {"ceph": {"admin": ADMIN_SECRET}, "clients": [ceph_secret(name) for name in clients()]},
        "trial": settings.trial,
    }


def secrets(context: Context) -> tuple[Secret, ...]:
    return (Secret(ADMIN_SECRET),) if context.settings.trial else ()
