"""Values and the certificate of etcd."""

from __future__ import annotations

from stackwright.api.services.voters import VOTERS
from stackwright.services.context import CONTROL_PLANE, Context, Values, placed
from stackwright.services.declaration import Certificate

PORT = 2379
API = "etcd"
PEERS = "etcd-discovery"
TLS = "etcd-tls"


def tooz_url(context: Context, folder: str) -> str:
    """The URL of the locks in Tooz's format; `folder` contains the service's client certificate.

    Locks outlast several requests to a member that lost its node; by default, one request takes as long as they last.
    """
    options = f"api_version=v3&ca_cert={folder}/ca.crt&cert_cert={folder}/tls.crt&cert_key={folder}/tls.key"
    return f"etcd3+https://{context.host(API)}:{PORT}?{options}&timeout=8&lock_timeout=60&membership_timeout=30"


def chart_values(context: Context) -> Values:
    return {
        "endpoints": {"cluster_domain_suffix": context.spec.cluster_domain},
        "labels": placed(CONTROL_PLANE, "server"),
        "pod": {"replicas": {"server": VOTERS[context.spec.size]}},
        "volume": {"class_name": context.spec.storage_class, "size": "2Gi"},
        "secrets": {"tls": {"etcd": TLS}},
    }


def certificates(context: Context) -> tuple[Certificate, ...]:
    """One certificate for all members, which are servers and clients of each other."""
    names = (API, f"{API}.{context.namespace}.svc", context.host(API), f"*.{context.host(PEERS)}", "localhost")
    return (Certificate(TLS, names=names, addresses=("127.0.0.1",)),)
