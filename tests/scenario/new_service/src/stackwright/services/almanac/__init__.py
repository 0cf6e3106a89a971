"""Almanac: a made-up calendar service: an API with a database, a message bus, a Secret, keys and a certificate.

It stores no data (voters, claims, back ends, disks in Ceph), has no pods on compute nodes, and no accounts for other
services. Examples of these are MariaDB, Glance, Cinder, Nova and Keystone.
"""

from __future__ import annotations

from stackwright.services.almanac.features import AlmanacFeatures, AlmanacSettings
from stackwright.services.almanac.kind import Almanac
from stackwright.services.almanac.values import PORT, certificates, chart_values, contracts, keys, secrets

from stackwright.services.declaration import INGRESS, Chart, Features, Listener, Public, Service
from stackwright.services.tested import RENDERED_ONLY, levels, service, switch

__all__ = ["SERVICE"]

SERVICE = Service(
    service="calendar",
    name="almanac",
    group="openstack",
    resource=Almanac,
    charts=(
        Chart(
            "almanac",
            chart_values,
            images=lambda settings: {"almanac_api": "almanac"},
            options=("almanac",),
            listens=(Listener("api", (PORT,), sources=("horizon", "keystoneclient", INGRESS)),),
            calls=("mariadb", "rabbitmq", "memcached", "keystone", "etcd"),
        ),
    ),
    secrets=secrets,
    keys=keys,
    contracts=contracts,
    certificates=certificates,
    settings=AlmanacSettings,
    features=Features(AlmanacFeatures, "The calendar service."),
    from_cloud=lambda cloud: {"messaging_instance": cloud.bus("almanac"), "cleanup": cloud.cleanup("almanac")},
    conf_files={"almanac": "almanac"},
    requires=lambda settings: ("database", "messaging", "identity", "coordination"),
    presets=("compute",),
    public=(Public("almanac"),),
    logging=True,
    cleanup=True,
    own_bus=True,
    tested={
        "features.services": service("calendar"),
        "features.logging.almanac.level": levels(RENDERED_ONLY),
        "features.database.cleanup.almanac.enabled": switch(RENDERED_ONLY),
        "features.messaging.components_with_dedicated_messaging": {"calendar": RENDERED_ONLY},
        "features.almanac.style": {"plain": RENDERED_ONLY, "rich": RENDERED_ONLY},
    },
)
