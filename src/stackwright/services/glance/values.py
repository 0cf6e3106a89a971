"""Values and contracts of Glance."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from stackwright.api.services.kinds import Size
from stackwright.core.kubernetes.quantity import amount
from stackwright.core.objects import mapping
from stackwright.services.barbican.clients import key_manager
from stackwright.services.ceph.clients import CEPH_CONF, ceph, ceph_secret
from stackwright.services.context import CONTROL_PLANE, Context, Values, placed
from stackwright.services.declaration import Contract
from stackwright.services.glance.features import (
    GlanceFileBackend,
    GlanceSettings,
    GlanceVolume,
)
from stackwright.services.ingress.endpoints import ingress_values
from stackwright.services.keystone.accounts import Endpoint, identity
from stackwright.services.mariadb.accounts import database
from stackwright.services.mariadb.cleanup import cleanup_values
from stackwright.services.oslo import api_conf
from stackwright.services.rabbitmq.accounts import notifications
from stackwright.services.sizes import limits

PORT = 9292
API = "glance-api"


@dataclass(frozen=True)
class Sizing:
    """Pods, unless a volume limits them to one; workers of each; threads of a worker, one for each transfer."""

    pods: int
    workers: int
    threads: int


SIZES: dict[Size, Sizing] = {
    "single": Sizing(1, 1, 4),
    "tiny": Sizing(3, 2, 8),
    "small": Sizing(3, 4, 8),
    "medium": Sizing(6, 8, 8),
}


def endpoint(context: Context) -> Endpoint:
    internal = context.url(API, PORT)
    return Endpoint("image", internal, context.public_url("glance", internal), "Image service")


def _volume(context: Context) -> tuple[str, GlanceVolume | None]:
    """Name and volume of the file store; an empty name and None without one."""
    return next(((name, store.pvc) for name, store in context.settings.stores.file.items()), ("", None))


def _replacement(context: Context, volume: GlanceVolume | None) -> str:
    """Pods stay on the node of a local volume. Any other volume must be released before another node can use it."""
    local = volume is None or volume.storage_class_name in ("", context.spec.storage_class)
    return "RollingUpdate" if local else "Recreate"


def _bounds(files: dict[str, GlanceFileBackend]) -> Values:
    """A project may store as much as the volume can contain. A local volume is a directory without an enforced size."""
    size = int(sum(amount(store.pvc.size) for store in files.values()))
    return {"image_size_cap": size, "user_storage_quota": f"{size}B"}


def _store_conf(context: Context) -> Values:
    """Sections of the stores. The chart itself configures a single file store, as in versions without other stores."""
    stores = context.settings.stores
    if set(stores.stores) == set(stores.file):
        return {"DEFAULT": _bounds(stores.file)}
    kinds = {
        **dict.fromkeys(stores.rbd, "rbd"),
        **dict.fromkeys(stores.file, "file"),
        **dict.fromkeys(stores.cinder, "cinder"),
    }
    sections: Values = {
        "DEFAULT": {"enabled_backends": [f"{name}:{kind}" for name, kind in kinds.items()]},
        "glance_store": {"default_backend": context.settings.default_store},
    }
    if stores.rbd:
        # A client that clones an image in Ceph, instead of copying it, needs the image's location.
        sections["DEFAULT"]["show_image_direct_url"] = True
    for name in stores.rbd:
        sections[name] = {"rbd_store_ceph_conf": CEPH_CONF, "rbd_store_chunk_size": 8}
    for name in stores.cinder:  # images are volumes of their owners
        sections[name] = {"cinder_catalog_info": "volumev3::internalURL"}
    return sections


def chart_values(context: Context) -> Values:
    spec = context.spec
    size = SIZES[spec.size]
    store, volume = _volume(context)
    stores = context.settings.stores
    conf = {**api_conf(context), **key_manager(context)}  # for certificates of signed images
    for section, options in _store_conf(context).items():
        conf[section] = {**conf.get(section, {}), **options}
    return {
        "endpoints": {"cluster_domain_suffix": spec.cluster_domain, "image": {"port": {"api": {"default": PORT}}}},
        "network": ingress_values(context),
        "labels": placed(CONTROL_PLANE, "api", "job"),
        "pod": {
            "replicas": {"api": 1 if store else size.pods},
            "resources": limits(api=size.workers),
            "lifecycle": {"upgrades": {"deployments": {"pod_replacement_strategy": _replacement(context, volume)}}},
        },
        "volume": {
            "store": store,
            "class_name": (volume.storage_class_name if volume else "") or spec.storage_class or None,
            **({"size": volume.size} if volume else {}),
        },
        "secrets": {
            "oslo_db": {"glance": f"{context.name}-database"},
            "oslo_messaging": {"notifications": f"{context.name}-notifications"},
            "identity": {"glance": f"{context.name}-keystone"},
            "ceph": {
                "glance": ceph_secret(context.name) if stores.rbd else None,
                "cinder": ceph_secret("cinder") if stores.cinder and "ceph" in context.settings.services else None,
            },
        },
        "cron": {"db_purge": cleanup_values(context.settings.cleanup)},
        "conf": {
            "glance": conf,
            "glance_api_uwsgi": {"uwsgi": {"processes": size.workers, "threads": size.threads}},
            "logging": {"logger_glance": {"level": spec.log_level}},
        },
    }


def stores_in(values: Mapping[str, Any]) -> set[str]:
    """Names of the stores in values of the chart."""
    enabled = mapping(mapping(mapping(values.get("conf")).get("glance")).get("DEFAULT")).get("enabled_backends")
    pairs = enabled if isinstance(enabled, list | tuple) else str(enabled or "").split(",")  # of an override
    file = mapping(values.get("volume")).get("store")
    return {str(each).partition(":")[0].strip() for each in (*pairs, file or "")} - {""}


def contracts(context: Context) -> tuple[Contract, ...]:
    asked = [database(context.name), notifications(context.name), identity(context, endpoint(context))]
    if rbd := context.settings.stores.rbd:
        options = {name: {"rbd_store_pool": "pool:images", "rbd_store_user": "user"} for name in rbd}
        asked.append(ceph(context.name, {"images": False}, options))
    return tuple(asked)


def requires(settings: GlanceSettings) -> tuple[str, ...]:
    stores = settings.stores
    return (
        "database",
        "messaging",
        "identity",
        *(["ceph"] if stores.rbd else []),
        *(["block-storage"] if stores.cinder else []),
    )
