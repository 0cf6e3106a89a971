"""Values, contracts and the certificate of Cinder."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, replace
from typing import Any

from stackwright.api.services.kinds import Size
from stackwright.core.helm.merge import merge
from stackwright.services.barbican.clients import key_manager
from stackwright.services.ceph.clients import CEPH_CONF, ceph, ceph_secret
from stackwright.services.cinder.features import CEPH_BACKUP, SWIFT_BACKUP, CinderSettings, VolumeType
from stackwright.services.context import CONTROL_PLANE, Context, Values, placed
from stackwright.services.declaration import Certificate, Contract
from stackwright.services.etcd.values import tooz_url
from stackwright.services.ingress.endpoints import ingress_values
from stackwright.services.keystone.accounts import Endpoint, identity
from stackwright.services.mariadb.accounts import database
from stackwright.services.mariadb.cleanup import cleanup_values
from stackwright.services.oslo import api_conf
from stackwright.services.rabbitmq.accounts import messaging, notifications
from stackwright.services.sizes import limits

PORT = 8776
API = "cinder-api"
# Names that clients of this release search; in the service types authority, `block-storage` is an alias of the type.
CATALOG = ("cinderv3", "volumev3")
LOCKS = "/etc/cinder/etcd"  # mount path of the client certificate for etcd
LOCKS_TLS = "cinder-etcd"
IMAGES = {
    **dict.fromkeys(("cinder_api", "cinder_scheduler", "cinder_volume", "cinder_backup", "cinder_db_sync"), "cinder"),
    "cinder_bootstrap": "keystoneclient",
}
RBD_CLIENT = {"rbd_pool": "pool:volumes", "rbd_user": "user", "rbd_secret_uuid": "secret_uuid"}


@dataclass(frozen=True)
class Sizing:
    """Pods, and workers of an API pod, each of which a slow back end may block.

    Without a cluster, cinder-volume has one pod at every size.
    """

    api: int
    scheduler: int
    volume: int
    backup: int
    api_workers: int


SIZES: dict[Size, Sizing] = {
    "single": Sizing(1, 1, 1, 1, 2),
    "tiny": Sizing(3, 3, 3, 3, 2),
    "small": Sizing(3, 3, 3, 3, 4),
    "medium": Sizing(6, 3, 6, 3, 4),
}


def endpoint(context: Context) -> Endpoint:
    path = "/v3/%(project_id)s"
    internal = context.url(API, PORT, path)
    public = context.public_url("cinder", internal, path)
    return Endpoint(CATALOG[1], internal, public, "Block storage service", ("nova", "service_user"))


def _replicas(context: Context) -> dict[str, int]:
    size, settings = SIZES[context.spec.size], context.settings
    return {
        "api": size.api,
        "scheduler": size.scheduler,
        "volume": size.volume if settings.clustered else 1,
        "backup": size.backup,
    }


def _backend_types(settings: CinderSettings) -> dict[str, Values]:
    """A volume type for each back end, with its name; a back end with several sections gets one for each section."""
    found: dict[str, Values] = {}
    for name, backend in settings.backends.items():
        if not backend.create_volume_type:
            continue
        places = sorted(set(backend.names.values()))
        for place in places:
            found[name if len(places) == 1 else place] = {"extra_specs": {"volume_backend_name": place}}
    return found


def _bootstrap(settings: CinderSettings) -> Values:
    """Volume types. The default type is the first public one of a back end."""
    found = _backend_types(settings)
    types = merge(found, {name: _volume_type(asked) for name, asked in settings.volume_types.items()})
    return {
        "volume_types": types,
        "default_type": next((name for name in found if types[name].get("is_public", True)), None),
    }


def _volume_type(asked: VolumeType) -> Values:
    place = {"volume_backend_name": asked.backend} if asked.backend else {}
    shared = {"multiattach": "<is> True"} if asked.multi_attach else {}
    return {
        "extra_specs": {**place, **shared, **asked.extra_specs},
        "description": asked.description,
        "is_public": asked.public,
        **({"qos": asked.qos.model_dump()} if asked.qos else {}),
    }


def _backup_conf(settings: CinderSettings) -> Values:
    if settings.backup_driver == SWIFT_BACKUP:
        swift = {"backup_swift_auth": "per_user", "swift_catalog_info": "object-store:swift:internalURL"}
        return {"backup_driver": SWIFT_BACKUP, **swift}
    return {"backup_driver": CEPH_BACKUP, "backup_ceph_conf": CEPH_CONF} if settings.backup_driver else {}


def _cinder_conf(context: Context) -> Values:
    spec, settings = context.spec, context.settings
    conf = api_conf(context)
    conf["DEFAULT"] |= _backup_conf(settings)
    if settings.clustered:
        conf["DEFAULT"]["cluster"] = context.name
    conf["nova"] = {"region_name": spec.region}
    conf |= key_manager(context, "service_user")
    if settings.coordinated:
        conf["coordination"] = {"backend_url": tooz_url(context, LOCKS)}
    return merge(conf, *(backend.values.conf.get("cinder", {}) for backend in settings.backends.values()))


def _mounts(settings: CinderSettings) -> bool:
    """Whether volumes of a back end are files on a file system that pods must mount."""
    return any(".nfs." in str(options.get("volume_driver", "")) for options in settings.sections.values())


def chart_values(context: Context) -> Values:
    spec, settings = context.spec, context.settings
    size = SIZES[spec.size]
    replicas = _replicas(context)
    return {
        "endpoints": {"cluster_domain_suffix": spec.cluster_domain, "volume": {"port": {"api": {"default": PORT}}}},
        "network": ingress_values(context),
        "labels": placed(CONTROL_PLANE, *replicas, "job"),
        "pod": {"replicas": replicas, "resources": limits(api=size.api_workers)},
        "secrets": {
            "oslo_db": {"cinder": f"{context.name}-database"},
            "oslo_messaging": {"cinder": f"{context.name}-messaging", "notifications": f"{context.name}-notifications"},
            "identity": {"cinder": f"{context.name}-keystone", "admin": "keystone-admin"},
            "ceph": {"cinder": ceph_secret(context.name) if settings.in_ceph else None},
            "tls": {"etcd": LOCKS_TLS if settings.coordinated else None},
        },
        "bootstrap": _bootstrap(settings),
        "conf": {
            "cinder": _cinder_conf(context),
            "backends": settings.sections,
            "privileged_volume": _mounts(settings),
            "privileged_backup": _mounts(settings),
            "cinder_api_uwsgi": {"uwsgi": {"processes": size.api_workers}},
            "logging": {"logger_cinder": {"level": spec.log_level}},
        },
        "cron": {"db_purge": cleanup_values(settings.cleanup)},
        "manifests": {
            "statefulset_volume": bool(settings.sections),
            "statefulset_backup": bool(settings.backup_driver),
        },
    }


def _storage(settings: CinderSettings, name: str) -> Contract:
    """The Ceph client of Cinder. It reads images, because Cinder creates volumes as their clones."""
    roles: dict[str, bool] = {}
    options: dict[str, Mapping[str, str]] = {}
    if settings.rbd_sections:
        roles |= {"volumes": False, "images": True}
        for section in settings.rbd_sections:
            own: Mapping[str, Any] = settings.sections[section]
            options[section] = {option: field for option, field in RBD_CLIENT.items() if option not in own}
    if settings.backup_driver == CEPH_BACKUP:
        roles |= {"backup": False}
        options["DEFAULT"] = {"backup_ceph_pool": "pool:backup", "backup_ceph_user": "user"}
    return ceph(name, roles, options)


def contracts(context: Context) -> tuple[Contract, ...]:
    settings = context.settings
    known = identity(context, endpoint(context))
    return (
        *([_storage(settings, context.name)] if settings.in_ceph else []),
        database(context.name),
        messaging(context.name, settings.messaging_instance),
        notifications(context.name),
        replace(known, spec={**known.spec, "serviceName": CATALOG[0]}),
    )


def certificates(context: Context) -> tuple[Certificate, ...]:
    return (Certificate(LOCKS_TLS, names=(context.name,)),) if context.settings.coordinated else ()
