"""Glance: the image service. Images are files on a volume; each store is a section of its own, so others can join it.

The volume is one that a single node has at a time (ReadWriteOnce), therefore there is one pod at every size, which
grows by workers. Several pods need a volume of ReadWriteMany, or a store that is not a volume.
"""

from __future__ import annotations

from dataclasses import dataclass

from stackwright.api.features import GlanceFeatures, GlanceFileBackend, GlanceVolume
from stackwright.api.services import Glance, Size
from stackwright.services.declaration import CONTROL_PLANE, Chart, Context, Contract, Service, Settings, Values, placed
from stackwright.services.needs import Endpoint, api_conf, database, identity, ingress_values, notifications

PORT = 9292
API = "glance-api"
REPLICAS = 1  # the volume is ReadWriteOnce


class GlanceSettings(GlanceFeatures, Settings):
    """features.glance."""


@dataclass(frozen=True)
class Sizing:
    """Workers of the one pod; threads of a worker, each of which an upload or download keeps busy."""

    workers: int
    threads: int


SIZES: dict[Size, Sizing] = {
    "single": Sizing(1, 4),
    "tiny": Sizing(2, 8),
    "small": Sizing(4, 8),
    "medium": Sizing(8, 8),
}


def endpoint(context: Context) -> Endpoint:
    internal = context.url(API, PORT)
    return Endpoint("image", internal, context.public_url("glance", internal), "Image service")


def _store(context: Context) -> tuple[str, GlanceVolume]:
    """Name and volume of the file store; the model lets through one at most."""
    default = {"images": GlanceFileBackend(default=True, pvc=GlanceVolume(size="10Gi"))}
    (name, backend), *_ = (context.settings.backends.file or default).items()
    return name, backend.pvc


def _replacement(context: Context) -> str:
    """Pods follow a local volume to its node; any other one must be free before a pod on another node begins."""
    _, volume = _store(context)
    local = volume.storage_class_name in ("", context.spec.storage_class)
    return "RollingUpdate" if local else "Recreate"


def _values(context: Context) -> Values:
    spec = context.spec
    size = SIZES[spec.size]
    store, volume = _store(context)
    image = context.image("glance")
    return {
        "images": {"tags": {"glance_api": image, "glance_db_sync": image}},
        "endpoints": {"cluster_domain_suffix": spec.cluster_domain, "image": {"port": {"api": {"default": PORT}}}},
        "network": ingress_values(context),
        "labels": placed(CONTROL_PLANE, "api", "job"),
        "pod": {
            "replicas": {"api": REPLICAS},
            "lifecycle": {"upgrades": {"deployments": {"pod_replacement_strategy": _replacement(context)}}},
        },
        "volume": {
            "store": store,
            "class_name": volume.storage_class_name or spec.storage_class or None,
            "size": volume.size,
        },
        "secrets": {
            "oslo_db": {"glance": f"{context.name}-database"},
            "oslo_messaging": {"notifications": f"{context.name}-notifications"},
            "identity": {"glance": f"{context.name}-keystone"},
        },
        "conf": {
            "glance": api_conf(context),
            "glance_api_uwsgi": {"uwsgi": {"processes": size.workers, "threads": size.threads}},
            "logging": {"logger_glance": {"level": spec.log_level}},
        },
    }


def _contracts(context: Context) -> tuple[Contract, ...]:
    return (database(context.name), notifications(context.name), identity(context, endpoint(context)))


SERVICE = Service(
    service="image",
    name="glance",
    group="openstack",
    resource=Glance,
    charts=(Chart("glance", _values),),
    contracts=_contracts,
    settings=GlanceSettings,
    conf_files={"glance": "glance"},
)
