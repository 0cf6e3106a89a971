"""Barbican: the key manager. Users store secrets; services get the keys of encrypted volumes in their users' names.

Simple Crypto encrypts secrets in the database by a key of each project, and those by a key that the operator rotates.
A Job encrypts the keys of projects with the newest of these keys. With Vault, new secrets are stored there.
"""

from __future__ import annotations

from stackwright.services.barbican.features import BarbicanFeatures, BarbicanSettings
from stackwright.services.barbican.kind import Barbican
from stackwright.services.barbican.values import PORT, authorities, chart_values, contracts, keys, outside, sensitive
from stackwright.services.declaration import INGRESS, Chart, Features, Listener, Public, Service
from stackwright.services.tested import RENDERED_ONLY, levels, service, switch

_SECRET = "test_a_secret_is_read_by_its_project_only"  # noqa: S105 - the name of a test

__all__ = ["SERVICE"]

SERVICE = Service(
    service="key-manager",
    name="barbican",
    group="openstack",
    resource=Barbican,
    charts=(
        Chart(
            "barbican",
            chart_values,
            images=lambda settings: dict.fromkeys(("barbican_api", "barbican_worker", "barbican_db_sync"), "barbican"),
            options=("barbican", "barbican_api_uwsgi", "logging"),
            listens=(
                Listener("api", (PORT,), name="barbican", sources=("horizon", "keystoneclient", INGRESS)),
                Listener("worker"),
            ),
            calls=("mariadb", "rabbitmq", "memcached", "keystone"),
        ),
    ),
    keys=keys,
    contracts=contracts,
    settings=BarbicanSettings,
    features=Features(BarbicanFeatures, "The key manager."),
    from_cloud=lambda cloud: {"messaging_instance": cloud.bus("barbican"), "cleanup": cloud.cleanup("barbican")},
    conf_files={"barbican": "barbican"},
    sensitive=sensitive,
    mounted=authorities,
    outside=outside,
    requires=lambda settings: ("database", "messaging", "identity"),
    public=(Public("barbican"),),
    logging=True,
    cleanup=True,
    section="barbican",
    programs={"barbicanAPI": "api", "barbicanWorker": "worker"},
    tested={
        "features.services": service("key-manager", _SECRET),
        "features.logging.barbican.level": levels(_SECRET),
        "features.database.cleanup.barbican.enabled": switch(RENDERED_ONLY),  # weekly, so no test waits for it
        "features.barbican.backends.vault.enabled": switch(RENDERED_ONLY),
        "features.barbican.backends.vault.use_ssl": switch(RENDERED_ONLY),
    },
)
