"""Values and the contract of the Ceph gateway."""

from __future__ import annotations

from pydantic import Field

from stackwright.services.ceph.values import ADMIN_SECRET, GATEWAY_URLS, KEYS, monitors
from stackwright.services.context import CONTROL_PLANE, Context, Settings, Values, placed
from stackwright.services.declaration import Contract
from stackwright.services.ingress.endpoints import ingress_values
from stackwright.services.keystone.accounts import Endpoint, identity

PORT = 8080
HOST = "object-store"
PATH = "/swift/v1/AUTH_%(project_id)s"


class CephRGWSettings(Settings):
    """The fact whether the cloud runs its own gateway."""

    trial: bool = Field(False, description="Run the gateway of the cloud's own Ceph.")


def endpoint(context: Context) -> Endpoint:
    if context.settings.trial:
        internal = context.url("ceph-rgw", PORT)
        public = context.public_url(HOST, internal)
    else:
        internal, public = (context.facts.get(name, "").rstrip("/") for name in GATEWAY_URLS)
    return Endpoint("object-store", f"{internal}{PATH}", f"{public}{PATH}", "Object storage")


def chart_values(context: Context) -> Values:
    return {
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


def missing_addresses(context: Context) -> str:
    missing = [name for name in GATEWAY_URLS if not context.facts.get(name)]
    if context.settings.trial or not missing:
        return ""
    return f"Waiting for {' and '.join(missing)} in Secret {KEYS} of Ceph: the address of its gateway"


def contracts(context: Context) -> tuple[Contract, ...]:
    return () if missing_addresses(context) else (identity(context, endpoint(context)),)
