"""Values, contracts, the key and the certificate of Designate and PowerDNS."""

from __future__ import annotations

from dataclasses import dataclass, replace

from stackwright.api.services.kinds import Size
from stackwright.services.context import CONTROL_PLANE, Context, Values, placed
from stackwright.services.declaration import Certificate, Contract, Secret
from stackwright.services.designate.clients import API, PORT
from stackwright.services.etcd.values import tooz_url
from stackwright.services.ingress.endpoints import ingress_values
from stackwright.services.keystone.accounts import Endpoint, identity
from stackwright.services.mariadb.accounts import database
from stackwright.services.oslo import api_conf
from stackwright.services.rabbitmq.accounts import messaging
from stackwright.services.sizes import limits

MDNS_PORT = 5354
DNS_PORT = 53
POWERDNS = "powerdns"  # name of its chart, its Service and its database
POWERDNS_API_PORT = 8081
POWERDNS_KEY = "powerdns-api"
LOCKS = "/etc/designate/etcd"  # mount path of the client certificate for etcd
LOCKS_TLS = "designate-etcd"
SECTION = "storage:sqlalchemy"  # of the connection to the database
NEUTRON = ("neutron-server", 9696)


@dataclass(frozen=True)
class Sizing:
    """Pods, processes of an API, and pods of PowerDNS."""

    api: int
    central: int
    mdns: int
    producer: int
    worker: int
    powerdns: int
    api_workers: int


# With fewer than two processes, an API would not answer probes while it waits for central.
SIZES: dict[Size, Sizing] = {
    "single": Sizing(1, 1, 1, 1, 1, 1, 2),
    "tiny": Sizing(3, 3, 2, 2, 2, 2, 2),
    "small": Sizing(3, 3, 3, 2, 3, 3, 2),
    "medium": Sizing(6, 6, 3, 3, 6, 3, 4),
}


def endpoint(context: Context) -> Endpoint:
    internal = context.url(API, PORT)
    return Endpoint("dns", internal, context.public_url("designate", internal), "DNS service")


def _domain(context: Context) -> str:
    return context.spec.public_domain or "cloud.internal"


def _name_servers(context: Context) -> list[str]:
    names = context.settings.backend.name_servers or [f"ns1.{_domain(context)}"]
    return [f"{name.rstrip('.')}." for name in names]


def _designate_conf(context: Context) -> Values:
    conf = api_conf(context)
    # Designate sends no notifications that anybody here reads.
    del conf["oslo_messaging_notifications"]
    return {
        **conf,
        "service:central": {"managed_resource_email": f"hostmaster@{_domain(context)}"},
        "network_api:neutron": {
            "endpoints": [f"{context.spec.region}|{context.url(*NEUTRON)}"],
            "endpoint_type": "internalURL",
        },
        "coordination": {"backend_url": tooz_url(context, LOCKS)},
    }


def _endpoints(context: Context) -> Values:
    """Both charts need those of both: zones are transferred from mdns, and PowerDNS is managed by its API."""
    return {
        "cluster_domain_suffix": context.spec.cluster_domain,
        "mdns": {"port": {"dns": {"default": MDNS_PORT}}},
        POWERDNS: {"port": {"api": {"default": POWERDNS_API_PORT}, "dns": {"default": DNS_PORT}}},
    }


def chart_values(context: Context) -> Values:
    spec = context.spec
    size = SIZES[spec.size]
    replicas = {name: getattr(size, name) for name in ("api", "central", "mdns", "producer", "worker")}
    return {
        "endpoints": {**_endpoints(context), "dns": {"port": {"api": {"default": PORT}}}},
        "network": ingress_values(context),
        "labels": placed(CONTROL_PLANE, *replicas, "job"),
        "pod": {"replicas": replicas, "resources": limits(api=size.api_workers)},
        "secrets": {
            "oslo_db": {"designate": f"{context.name}-database"},
            "oslo_messaging": {"designate": f"{context.name}-messaging"},
            "identity": {"designate": f"{context.name}-keystone"},
            "tls": {"etcd": LOCKS_TLS},
            POWERDNS: POWERDNS_KEY,
        },
        "conf": {
            "pool": {"ns_records": _name_servers(context)},
            "designate": _designate_conf(context),
            "designate_api_uwsgi": {"uwsgi": {"processes": size.api_workers}},
            "logging": {"logger_designate": {"level": spec.log_level}},
        },
    }


def powerdns_values(context: Context) -> Values:
    backend = context.settings.backend
    protocols = [name.upper() for name in backend.protocol.split("+")] if backend.external_ip else []
    return {
        "endpoints": _endpoints(context),
        "network": {
            "public": {"protocols": protocols, "address": backend.external_ip or ""},
            "host_port": {"dns": DNS_PORT if backend.on_nodes else None},
        },
        "labels": placed(CONTROL_PLANE, "server", "job"),
        "pod": {"replicas": {"server": SIZES[context.spec.size].powerdns}},
        "secrets": {"oslo_db": {POWERDNS: f"{POWERDNS}-database"}, "api": POWERDNS_KEY},
    }


def secrets(context: Context) -> tuple[Secret, ...]:
    """The key of PowerDNS' API."""
    return (Secret(POWERDNS_KEY, generated=("key",)),)


def certificates(context: Context) -> tuple[Certificate, ...]:
    return (Certificate(LOCKS_TLS, names=(context.name,)),)


def contracts(context: Context) -> tuple[Contract, ...]:
    known = identity(context, endpoint(context))
    return (
        database(context.name, section=SECTION),
        database(POWERDNS),
        messaging(context.name, context.settings.messaging_instance),
        # It only validates tokens, for which the role `service` is enough.
        replace(known, spec={**known.spec, "roles": ["service"]}),
    )
