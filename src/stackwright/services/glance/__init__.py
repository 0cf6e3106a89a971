"""Glance: the image service. Each image store is a section: files on a volume, Ceph, or Cinder's volumes.

Without configured stores, images are in Ceph if the cloud has one, otherwise in files. Only one node can mount the
volume for files (ReadWriteOnce), so one pod runs at every size, which scales by workers.
"""

from __future__ import annotations

from stackwright.services.declaration import INGRESS, OPERATOR, Chart, Features, Listener, Public, Service
from stackwright.services.glance.features import GlanceFeatures, GlanceSettings, with_storage_class
from stackwright.services.glance.kind import Glance
from stackwright.services.glance.values import PORT, chart_values, contracts, requires, stores_in
from stackwright.services.tested import IN_CEPH, RENDERED_ONLY, SMALL_CLOUD, UP, WITHOUT_CEPH, levels, service, switch

__all__ = ["SERVICE"]

SERVICE = Service(
    service="image",
    name="glance",
    group="openstack",
    resource=Glance,
    charts=(
        Chart(
            "glance",
            chart_values,
            images=lambda settings: {"glance_api": "glance", "glance_db_sync": "glance"},
            in_ceph=("api",),
            claims=("api",),
            options=("glance", "glance_api_uwsgi", "logging"),
            listens=(
                Listener("api", (PORT,), name="glance", sources=("horizon", "keystoneclient", INGRESS, OPERATOR)),
            ),
            calls=("mariadb", "rabbitmq", "memcached", "keystone", "cinder", "barbican", "ceph", "ceph-rgw", "glance"),
        ),
    ),
    contracts=contracts,
    settings=GlanceSettings,
    features=Features(GlanceFeatures, "The image service.", settings=with_storage_class),
    from_cloud=lambda cloud: {"services": sorted(cloud.services), "cleanup": cloud.cleanup("glance")},
    conf_files={"glance": "glance"},
    requires=requires,
    backends=lambda settings: tuple(sorted(settings.stores.stores)),
    deployed_backends=stores_in,
    presets=("core", "compute"),
    public=(Public("glance"),),
    logging=True,
    cleanup=True,
    section="glance",
    programs={"glanceAPIs.default": "api"},
    tested={
        "features.services": service("image", UP, SMALL_CLOUD),
        "features.logging.glance.level": levels(UP),
        "features.glance.backends": {"file": WITHOUT_CEPH, "rbd": IN_CEPH, "cinder": RENDERED_ONLY},
        **{
            f"features.glance.backends.{name}.<name>.default": switch(RENDERED_ONLY)
            for name in ("file", "rbd", "cinder")
        },
        "features.database.cleanup.glance.enabled": switch(RENDERED_ONLY),  # weekly, so no test waits for it
    },
)
