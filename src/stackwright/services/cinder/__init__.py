"""Cinder: the block storage service. Volumes are in Ceph, or in any back end that the cloud's spec describes.

One component serves all back ends, with one process for each. If its locks (coordination) and its storage are shared,
its pods form a cluster: each of them can continue the work of another.
"""

from __future__ import annotations

from stackwright.core.objects import mapping
from stackwright.services.cinder.features import RBD, CinderFeatures, CinderSettings
from stackwright.services.cinder.kind import Cinder
from stackwright.services.cinder.values import IMAGES, PORT, certificates, chart_values, contracts
from stackwright.services.declaration import INGRESS, OPERATOR, Chart, Features, Listener, Public, Service
from stackwright.services.tested import ANY_OTHER, IN_CEPH, RENDERED_ONLY, VOLUME, levels, service, switch

_BACKUP = "test_a_machine_boots_from_a_backup_restored_from_object_storage"
_SHARED = "test_a_shared_volume_is_attached_to_two_machines"
_LIMITED = "test_a_retyped_volume_keeps_its_data_and_is_limited"
_BACKENDS = "features.cinder.volume.backends.<name>"
_TYPES = "features.cinder.volume_types.<name>"


__all__ = ["SERVICE"]

SERVICE = Service(
    service="block-storage",
    name="cinder",
    group="openstack",
    resource=Cinder,
    charts=(
        Chart(
            "cinder",
            chart_values,
            images=lambda settings: IMAGES,
            in_ceph=("volume", "backup"),
            options=("cinder", "backends", "cinder_api_uwsgi", "logging"),
            listens=(
                Listener("api", (PORT,), name="cinder", sources=("horizon", "keystoneclient", INGRESS, OPERATOR)),
                *(Listener(client) for client in ("scheduler", "volume", "backup")),
            ),
            calls=(
                *("mariadb", "rabbitmq", "memcached", "keystone", "etcd"),
                *("glance", "nova", "cinder", "barbican", "ceph", "ceph-rgw"),
            ),
        ),
    ),
    contracts=contracts,
    certificates=certificates,
    settings=CinderSettings,
    features=Features(CinderFeatures, "The block storage service."),
    from_cloud=lambda cloud: {
        "messaging_instance": cloud.bus("cinder"),
        "services": sorted(cloud.services),
        "cleanup": cloud.cleanup("cinder"),
    },
    conf_files={"cinder": "cinder"},
    requires=lambda settings: (
        *("database", "messaging", "identity", "coordination"),
        *(("ceph",) if settings.in_ceph else ()),
    ),
    backends=lambda settings: tuple(sorted(settings.sections)),
    deployed_backends=lambda values: mapping(mapping(values.get("conf")).get("backends")),
    presets=("compute",),
    public=(Public("cinder"),),
    logging=True,
    cleanup=True,
    tested={
        "features.services": service("block-storage", IN_CEPH),
        "features.logging.cinder.level": levels(VOLUME),
        "features.database.cleanup.cinder.enabled": switch(RENDERED_ONLY),  # weekly, so no test waits for it
        "features.cinder.volume.enabled": switch(VOLUME),
        f"{_BACKENDS}.enabled": switch(RENDERED_ONLY),
        f"{_BACKENDS}.create_volume_type": switch(RENDERED_ONLY),
        f"{_BACKENDS}.values.conf.backends.<name>.volume_driver": {RBD: VOLUME, ANY_OTHER: RENDERED_ONLY},
        f"{_TYPES}.public": switch(_SHARED),
        f"{_TYPES}.multi_attach": switch(_SHARED, _LIMITED),
        f"{_TYPES}.qos.consumer": {"back-end": _LIMITED, "front-end": RENDERED_ONLY, "both": RENDERED_ONLY},
        "features.cinder.backup.enabled": switch(_BACKUP),
    },
)
