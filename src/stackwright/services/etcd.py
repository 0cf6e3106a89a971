"""etcd: locks that all processes of a service share, so that several of them may work on the same things.

Members and clients know each other by certificates of the cloud's own authority, and by nothing else.
"""

from __future__ import annotations

from stackwright.api.services.kinds import Etcd, Size
from stackwright.services.declaration import (
    CONTROL_PLANE,
    Certificate,
    Chart,
    Context,
    Service,
    Values,
    members,
    placed,
)

PORT = 2379
API = "etcd"
PEERS = "etcd-discovery"
TLS = "etcd-tls"
MEMBERS: dict[Size, int] = {"single": 1, "tiny": 3, "small": 3, "medium": 3}


def tooz_url(context: Context, folder: str) -> str:
    """Where a service with a client certificate in a folder finds its locks, as Tooz takes it."""
    options = f"api_version=v3&ca_cert={folder}/ca.crt&cert_cert={folder}/tls.crt&cert_key={folder}/tls.key"
    return f"etcd3+https://{context.host(API)}:{PORT}?{options}"


def _values(context: Context) -> Values:
    return {
        "images": {"tags": {"etcd": context.image("etcd")}},
        "endpoints": {"cluster_domain_suffix": context.spec.cluster_domain},
        "labels": placed(CONTROL_PLANE, "server"),
        "pod": members(MEMBERS[context.spec.size]),
        "volume": {"class_name": context.spec.storage_class, "size": "2Gi"},
        "secrets": {"tls": {"etcd": TLS}},
    }


def _certificates(context: Context) -> tuple[Certificate, ...]:
    """One for all members, which are each other's servers and clients."""
    names = (API, f"{API}.{context.namespace}.svc", context.host(API), f"*.{context.host(PEERS)}", "localhost")
    return (Certificate(TLS, names=names, addresses=("127.0.0.1",)),)


SERVICE = Service(
    service="coordination",
    name="etcd",
    group="infra",
    resource=Etcd,
    charts=(Chart("etcd", _values, claims=("server",), voters="server"),),
    certificates=_certificates,
)
