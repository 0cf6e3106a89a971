"""Object storage: the Ceph gateway, which serves Swift and S3 and authenticates users at Keystone.

The gateway of the cloud's own Ceph runs here. An external Ceph runs its own gateway: it gets the user that
authenticates at Keystone (`controllers/ceph`) and returns its URLs in the Secret of its keys; the catalog uses these.
"""

from __future__ import annotations

from pydantic import Field

from stackwright.api.services.kinds import CephRGW
from stackwright.services.ceph import ADMIN_SECRET, GATEWAY, GATEWAY_URLS, KEYS, monitors
from stackwright.services.declaration import CONTROL_PLANE, Chart, Context, Contract, Service, Settings, Values, placed
from stackwright.services.needs import Endpoint, identity, ingress_values

PORT = 8080
HOST = "object-store"
PATH = "/swift/v1/AUTH_%(project_id)s"


class CephRGWSettings(Settings):
    """Whether the cloud runs its own gateway."""

    trial: bool = Field(False, description="Run the gateway of the cloud's own Ceph.")


def endpoint(context: Context) -> Endpoint:
    if context.settings.trial:
        internal = context.url("ceph-rgw", PORT)
        public = context.public_url(HOST, internal)
    else:
        internal, public = (context.facts.get(name, "").rstrip("/") for name in GATEWAY_URLS)
    return Endpoint("object-store", f"{internal}{PATH}", f"{public}{PATH}", "Object storage")


def _values(context: Context) -> Values:
    return {
        "images": {"tags": {"ceph_rgw": context.image("ceph")}},
        "endpoints": {
            "cluster_domain_suffix": context.spec.cluster_domain,
            "object_store": {"port": {"api": {"default": PORT}}},
        },
        "network": ingress_values(context),
        "labels": placed(CONTROL_PLANE, "api"),
        "pod": {"replicas": {"api": 1 if context.spec.size == "single" else 2}},
        "secrets": {"ceph": {"admin": ADMIN_SECRET}, "identity": {"rgw": f"{context.name}-keystone"}},
        "monitors": monitors(context),
    }


def _lacks(context: Context) -> str:
    missing = [name for name in GATEWAY_URLS if not context.facts.get(name)]
    if context.settings.trial or not missing:
        return ""
    return f"Waiting for {' and '.join(missing)} in Secret {KEYS} of Ceph: the address of its gateway"


def _contracts(context: Context) -> tuple[Contract, ...]:
    return () if _lacks(context) else (identity(context, endpoint(context)),)


SERVICE = Service(
    service="object-storage",
    name="ceph-rgw",
    group="openstack",
    resource=CephRGW,
    charts=(Chart("ceph-rgw", _values, wanted=lambda context: context.settings.trial, options=("ceph",)),),
    contracts=_contracts,
    settings=CephRGWSettings,
    requires=lambda settings: ("identity", "ceph"),
    facts=GATEWAY,
    lacks=_lacks,
)
