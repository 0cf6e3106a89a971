"""Designate: the DNS service. Users own zones and recordsets; PowerDNS answers queries about them.

The API sends requests to central, which alone changes the database. Workers create and delete zones by PowerDNS' API
and request their transfer from mdns, the hidden primary. Producers repeat periodic tasks; etcd tells them who has which
zones.
PowerDNS has a chart of its own: it answers anybody, so it reaches nothing but its database and mdns.
"""

from __future__ import annotations

from stackwright.services.declaration import INGRESS, Chart, Features, Listener, Public, Service
from stackwright.services.designate.clients import PORT
from stackwright.services.designate.features import DesignateFeatures, DesignateSettings
from stackwright.services.designate.kind import Designate
from stackwright.services.designate.values import (
    DNS_PORT,
    MDNS_PORT,
    POWERDNS,
    POWERDNS_API_PORT,
    certificates,
    chart_values,
    contracts,
    powerdns_values,
    secrets,
)
from stackwright.services.tested import RENDERED_ONLY, levels, service, switch

_ZONE = "test_a_recordset_is_answered_by_the_name_server"
_PROGRAMS = ("api", "central", "mdns", "producer", "worker", "db_sync")

__all__ = ["SERVICE"]

SERVICE = Service(
    service="dns",
    name="designate",
    group="openstack",
    resource=Designate,
    charts=(
        Chart(
            "designate",
            chart_values,
            images=lambda settings: dict.fromkeys((f"designate_{name}" for name in _PROGRAMS), "designate"),
            options=("designate", "designate_api_uwsgi", "logging"),
            listens=(
                Listener("api", (PORT,), name="designate", sources=("horizon", "keystoneclient", INGRESS)),
                Listener("mdns", (MDNS_PORT,), udp=(MDNS_PORT,), name="designate-mdns"),
                *(Listener(client) for client in ("central", "producer", "worker")),
            ),
            confined=True,  # tenants name primaries of their zones: they reach DNS elsewhere, and nothing else
            calls=("mariadb", "rabbitmq", "memcached", "keystone", "neutron", "etcd", POWERDNS),
        ),
        Chart(
            POWERDNS,
            powerdns_values,
            images=lambda settings: {POWERDNS: "pdns", f"{POWERDNS}_db_sync": "designate"},
            options=(POWERDNS,),
            listens=(
                Listener("server", (DNS_PORT,), udp=(DNS_PORT,), anyone=True),
                Listener("server", (POWERDNS_API_PORT,), name=POWERDNS),
            ),
            confined=True,
            calls=("mariadb", "designate-mdns"),
        ),
    ),
    secrets=secrets,
    contracts=contracts,
    certificates=certificates,
    settings=DesignateSettings,
    features=Features(DesignateFeatures, "The DNS service."),
    from_cloud=lambda cloud: {"messaging_instance": cloud.bus("designate")},
    conf_files={"designate": "designate"},
    requires=lambda settings: ("database", "messaging", "identity", "coordination"),
    lost_with_object="answers to queries: names do not resolve until {} is there again; its zones stay in the database",
    public=(Public("designate"),),
    logging=True,
    section="designate",
    programs={
        "designateAPI": "api",
        "designateCentral": "central",
        "designateMdns": "mdns",
        "designateProducer": "producer",
        "designateWorker": "worker",
    },
    tested={
        "features.services": service("dns", _ZONE),
        "features.logging.designate.level": levels(_ZONE),
        "features.designate.backend.protocol": dict.fromkeys(("udp", "tcp", "tcp+udp"), RENDERED_ONLY),
        "features.designate.backend.on_nodes": switch(RENDERED_ONLY),
    },
)
