"""Values, contracts and certificates of Nova."""

from __future__ import annotations

from dataclasses import dataclass

from stackwright.api.services.kinds import Size
from stackwright.services.barbican.clients import key_manager
from stackwright.services.ceph.clients import CEPH_CONF, ceph, ceph_secret
from stackwright.services.context import COMPUTE, CONTROL_PLANE, Context, Values, placed
from stackwright.services.declaration import Certificate, Contract
from stackwright.services.ingress.endpoints import endpoint_values, ingress_values
from stackwright.services.keystone.accounts import Endpoint, identity
from stackwright.services.mariadb.accounts import database
from stackwright.services.mariadb.cleanup import cleanup_values
from stackwright.services.neutron.values import METADATA_PORT, METADATA_SECRET
from stackwright.services.nova import libvirt
from stackwright.services.oslo import api_conf
from stackwright.services.rabbitmq.accounts import messaging, notifications
from stackwright.services.sizes import limits

PORT = 8774
NOVNC_PORT = 6080
NOVNC_TLS = "nova-novncproxy-tls"
API = "nova-api"
API_DATABASE = "nova-api"  # name of the contract; database and user are nova_api
CELL0 = "nova_cell0"
IMAGES_TYPES = {"local": "qcow2", "qcow2": "qcow2", "raw": "raw", "ceph": "rbd"}


@dataclass(frozen=True)
class Sizing:
    """Pods, workers in each, and memory and local disk of a node that are reserved from virtual machines (MiB).

    An API with fewer than two workers could wait for itself: see nova_api_uwsgi in the chart. Creating a server
    occupies a worker for a second or more, mostly waiting for Neutron. Two such requests are often concurrent, so a
    third worker serves all others.
    """

    api: int
    others: int
    scheduler: int
    api_workers: int
    workers: int
    reserved_memory: int
    reserved_disk: int  # for the system, images of containers, volumes of the control plane, and Nova's cache


GIB = 1024
SIZES: dict[Size, Sizing] = {
    "single": Sizing(1, 1, 1, 3, 1, 128, 10 * GIB),
    "tiny": Sizing(3, 3, 3, 2, 2, 2048, 20 * GIB),
    "small": Sizing(6, 3, 3, 2, 4, 4096, 32 * GIB),
    "medium": Sizing(15, 6, 7, 4, 8, 4096, 32 * GIB),
}


def endpoint(context: Context) -> Endpoint:
    internal = context.url(API, PORT, "/v2.1")
    public = context.public_url("nova", internal, "/v2.1")
    return Endpoint("compute", internal, public, "Compute service", ("placement", "neutron", "cinder", "service_user"))


def _nova_conf(context: Context) -> Values:
    spec, settings = context.spec, context.settings
    size = SIZES[spec.size]
    conf = api_conf(context)
    conf["DEFAULT"] |= {
        "reserved_host_memory_mb": size.reserved_memory,
        **({} if settings.in_ceph else {"reserved_host_disk_mb": size.reserved_disk}),
        "allow_resize_to_same_host": spec.size == "single",  # the cloud may have no other host
        **{f"{kind}_allocation_ratio": getattr(settings.allocation_ratios, kind) for kind in ("cpu", "disk", "ram")},
    }
    regional = ("glance", "keystone", "neutron", "placement")
    return {
        **conf,
        **{section: {"region_name": spec.region} for section in regional},
        "cinder": {"os_region_name": spec.region},
        "conductor": {"workers": size.workers},
        "scheduler": {"workers": size.workers},
        "libvirt": {
            "images_type": IMAGES_TYPES[settings.images.backend],
            "live_migration_scheme": "tls",  # between libvirts, always; the next option: between QEMUs
            "live_migration_with_native_tls": settings.libvirt.tls.enabled,
            **({"images_rbd_ceph_conf": CEPH_CONF} if settings.in_ceph else {}),
        },
        "vnc": {"enabled": settings.console.novnc.enabled},
        **key_manager(context, "service_user"),
    }


def _replicas(context: Context) -> dict[str, int]:
    size = SIZES[context.spec.size]
    counts = dict.fromkeys(("api-metadata", "conductor", "novncproxy"), size.others)
    return {"api-osapi": size.api, "scheduler": size.scheduler, **counts}


def chart_values(context: Context) -> Values:
    spec, settings = context.spec, context.settings
    size = SIZES[spec.size]
    replicas = _replicas(context)
    novnc = settings.console.novnc.enabled
    return {
        "endpoints": {
            "cluster_domain_suffix": spec.cluster_domain,
            "compute": {"port": {"api": {"default": PORT}}},
            "compute_metadata": {"port": {"metadata": {"default": METADATA_PORT}}},
            "compute_novnc_proxy": endpoint_values(context, "novncproxy", "novnc_proxy", NOVNC_PORT),
        },
        "network": ingress_values(context),
        "labels": placed(CONTROL_PLANE, *replicas, "job") | placed(COMPUTE, "compute"),
        "pod": {
            "replicas": replicas,
            "resources": limits(
                api_osapi=size.api_workers, api_metadata=size.workers, conductor=size.workers, scheduler=size.workers
            ),
        },
        "secrets": {
            "oslo_db": {"nova": f"{context.name}-database", "nova_api": f"{API_DATABASE}-database"},
            "oslo_messaging": {"nova": f"{context.name}-messaging", "notifications": f"{context.name}-notifications"},
            "identity": {"nova": f"{context.name}-keystone"},
            "metadata_proxy": METADATA_SECRET,
            "ssh": f"{context.name}-ssh",
            "tls": {"novncproxy": NOVNC_TLS if _consoles_have_tls(context) else None},
            "ceph": {"nova": ceph_secret(context.name) if settings.in_ceph else None},
        },
        "cron": {"db_purge": cleanup_values(settings.cleanup)},
        "conf": {
            "hosts": sorted(node.name for node in context.labelled(COMPUTE)),
            "vcpu_type": settings.vcpu_type,
            "live_migration_interface": settings.live_migration_interface,
            "nova": _nova_conf(context),
            "nova_api_uwsgi": {"uwsgi": {"processes": size.api_workers}},
            "nova_metadata_uwsgi": {"uwsgi": {"processes": size.workers}},
            "logging": {"logger_nova": {"level": spec.log_level}},
        },
        "manifests": {"deployment_novncproxy": novnc},
    }


def contracts(context: Context) -> tuple[Contract, ...]:
    names = {"images_rbd_pool": "pool:vms", "rbd_user": "user", "rbd_secret_uuid": "secret_uuid"}
    # Nova clones images, so it reads the images' pool.
    disks = ceph(context.name, {"vms": False, "images": True}, {"libvirt": names})
    return (
        *([disks] if context.settings.in_ceph else []),
        database(context.name, additionalDatabases=[CELL0]),
        database(API_DATABASE, section="api_database"),
        messaging(context.name, context.settings.messaging_instance),
        notifications(context.name),
        identity(context, endpoint(context)),
    )


def certificates(context: Context) -> tuple[Certificate, ...]:
    """The certificates of the hypervisors, and the client certificate of the console proxy."""
    proxy = Certificate(NOVNC_TLS, names=("nova-novncproxy",))
    return (*libvirt.certificates(context), *([proxy] if _consoles_have_tls(context) else []))


def _consoles_have_tls(context: Context) -> bool:
    settings = context.settings
    return bool(settings.console.novnc.enabled and libvirt.certificates(context))
