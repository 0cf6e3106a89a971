"""Keystone: the identity service, with the client pod that contains the OpenStack command line.

The operator creates and rotates the Fernet keys. The rotation interval ensures that no token outlives the key that
decrypts it (`_keys`). Audit events are sent to the bus only if the cloud's spec requests it: by default, Keystone does
not wait for RabbitMQ.
"""

from __future__ import annotations

from stackwright.services.declaration import INGRESS, OPERATOR, Chart, Features, Listener, Public, Service
from stackwright.services.keystone.features import KeystoneFeatures, KeystoneSettings
from stackwright.services.keystone.kind import Keystone
from stackwright.services.keystone.values import PORT, chart_values, client_values, contracts, keys, requires, secrets
from stackwright.services.tested import UP, levels, service

__all__ = ["SERVICE"]

SERVICE = Service(
    service="identity",
    name="keystone",
    group="openstack",
    resource=Keystone,
    charts=(
        Chart(
            "keystone",
            chart_values,
            images=lambda settings: {"keystone_api": "keystone", "keystone_db_sync": "keystone"},
            options=("keystone", "keystone_api_uwsgi", "logging"),
            listens=(Listener("api", (PORT,), name="keystone", sources=(INGRESS, OPERATOR)),),
            calls=("mariadb", "rabbitmq", "memcached", "keystone"),
        ),
        Chart(
            "keystoneclient",
            client_values,
            images=lambda settings: {"keystone_client": "keystoneclient"},
            listens=(Listener("client"),),
            calls=("memcached", "keystone"),
        ),
    ),
    secrets=secrets,
    keys=keys,
    contracts=contracts,
    settings=KeystoneSettings,
    features=Features(KeystoneFeatures, "The identity service."),
    from_cloud=lambda cloud: {"messaging_instance": cloud.bus("keystone"), "cadf": cloud.audit},
    conf_files={"keystone": "keystone"},
    requires=requires,
    serves={"component": "api"},
    presets=("core", "compute"),
    public=(Public("keystone", "/v3"),),
    logging=True,
    section="keystone",
    programs={"": "api"},
    tested={
        "features.services": service("identity", UP),
        "features.logging.keystone.level": levels(UP),
    },
)
