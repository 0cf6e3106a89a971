"""Which feature values were used in a real cloud, and which are only rendered into charts. Pure.

TESTED names for each accepted value the end-to-end test that uses it, or none. `plan` reports values of a cloud that no
test uses; docs/reference/support.md lists all. A unit test compares the table with the API.
"""

from __future__ import annotations

import types
from collections.abc import Iterator, Mapping
from typing import Annotated, Any, Literal, Union, get_args, get_origin

from pydantic import BaseModel

from stackwright.api.support import OffAnyway
from stackwright.cloud.deployment import OpenStackDeploymentSpec
from stackwright.services.cinder.values import RBD
from stackwright.services.neutron.features import GlanceFileBackend, GlanceStore

Value = str | bool
RENDERED_ONLY = ""
DRIVER = "features.cinder.volume.backends.<name>.values.conf.backends.<name>.volume_driver"

_UP = "test_up_ends_with_a_vm_that_is_active_pinged_and_logged_in_to_by_its_floating_ip"
_SMOKE = "test_smoke_passes_every_check"
_SMALL_CLOUD = "test_audit_events_bring_a_messaging_account_and_take_it_away"
_REMOVED = "test_a_service_that_is_removed_leaves_nothing_but_its_database_and_can_come_back"
_BROWSER = "test_horizon_login_in_a_real_headless_browser"
_IN_CEPH = "test_then_images_and_disks_are_in_ceph"
_BACKUP = "test_a_machine_boots_from_what_a_backup_in_object_storage_brought_back"
_VOLUME = "test_a_machine_boots_from_a_volume"
_SHARED = "test_a_shared_volume_is_in_two_machines_at_once"
_LIMITED = "test_a_volume_of_another_type_keeps_what_is_in_it_and_is_held_to_its_limit"
_OBJECTS = "test_objects_by_the_openstack_command"
_TUNNEL = "test_vms_on_both_nodes_talk_over_the_tunnel"
_MIGRATION = "test_live_migration"
_WITHOUT_CEPH = "test_the_example_becomes_a_server_without_storage"

_SERVICES: dict[Value, str] = {
    **dict.fromkeys(
        ("compute", "database", "identity", "image", "ingress", "memcached", "messaging", "networking", "placement"),
        _UP,
    ),
    "dashboard": _BROWSER,
    **dict.fromkeys(("block-storage", "ceph", "coordination"), _IN_CEPH),
    "object-storage": _OBJECTS,
    **dict.fromkeys(("~compute", "~image", "~ingress", "~networking"), _SMALL_CLOUD),
    **dict.fromkeys(("~dashboard", "~placement"), _REMOVED),
    **dict.fromkeys(
        (
            "~block-storage",
            "~ceph",
            "~coordination",
            "~database",
            "~identity",
            "~memcached",
            "~messaging",
            "~object-storage",
        ),
        RENDERED_ONLY,
    ),
}


def _switch(on: str, off: str = RENDERED_ONLY) -> dict[Value, str]:
    return {True: on, False: off}


TESTED: Mapping[str, Mapping[Value, str]] = {
    "preset": {"core": _UP, "compute": RENDERED_ONLY},
    "size": {"single": _UP, "tiny": RENDERED_ONLY, "small": RENDERED_ONLY, "medium": RENDERED_ONLY},
    "features.services": _SERVICES,
    **{
        f"features.logging.{name}.level": {
            "INFO": _UP,
            **dict.fromkeys(("DEBUG", "WARNING", "ERROR", "CRITICAL"), RENDERED_ONLY),
        }
        for name in ("keystone", "glance", "placement", "nova", "neutron", "horizon")
    },
    "features.logging.cinder.level": {
        "INFO": _VOLUME,
        **dict.fromkeys(("DEBUG", "WARNING", "ERROR", "CRITICAL"), RENDERED_ONLY),
    },
    "features.logging.cadf.enabled": _switch(_SMALL_CLOUD),
    "features.logging.cadf.driver": {"messagingv2": _SMALL_CLOUD, "log": RENDERED_ONLY},
    "features.network_policies.enabled": _switch(_UP),
    "features.glance.backends": {"file": _WITHOUT_CEPH, "rbd": _IN_CEPH, "cinder": RENDERED_ONLY},
    **{f"features.glance.backends.{name}.<name>.default": _switch(RENDERED_ONLY) for name in ("file", "rbd", "cinder")},
    # Their jobs run weekly; no test waits for one.
    **{f"features.database.cleanup.{name}.enabled": _switch(RENDERED_ONLY) for name in ("nova", "cinder", "glance")},
    "features.nova.images.backend": {
        "local": _WITHOUT_CEPH,
        "qcow2": RENDERED_ONLY,
        "raw": RENDERED_ONLY,
        "ceph": _IN_CEPH,
    },
    "features.nova.console.novnc.enabled": _switch(_SMOKE),
    "features.nova.libvirt.tls.enabled": _switch(_MIGRATION),
    "features.horizon.default_theme": {"default": _BROWSER, "material": RENDERED_ONLY},
    "features.neutron.backend": {"ml2": _UP, "ml2/ovn": RENDERED_ONLY},
    "features.neutron.tenant_network_types": {
        "vxlan": _TUNNEL,
        **dict.fromkeys(("flat", "vlan", "geneve"), RENDERED_ONLY),
    },
    "features.neutron.external_networks.network_types": {"flat": _UP, "vlan": RENDERED_ONLY},
    "features.neutron.floating_network.enabled": _switch(_UP),
    "features.neutron.floating_network.network_type": {"flat": _UP, "vlan": RENDERED_ONLY},
    "features.neutron.extensions.trunk.enabled": _switch(_WITHOUT_CEPH),
    "features.messaging.components_with_dedicated_messaging": {"compute": _UP, "networking": _UP},
    "features.cinder.volume.enabled": _switch(_VOLUME),
    "features.cinder.volume.backends.<name>.enabled": _switch(RENDERED_ONLY),
    "features.cinder.volume.backends.<name>.create_volume_type": _switch(RENDERED_ONLY),
    DRIVER: {RBD: _VOLUME, "any other": RENDERED_ONLY},
    "features.cinder.volume_types.<name>.public": _switch(_SHARED),
    "features.cinder.volume_types.<name>.multi_attach": _switch(_SHARED, _LIMITED),
    "features.cinder.volume_types.<name>.qos.consumer": {
        "back-end": _LIMITED,
        "front-end": RENDERED_ONLY,
        "both": RENDERED_ONLY,
    },
    "features.cinder.backup.enabled": _switch(_BACKUP),
}


def accepted() -> Iterator[tuple[str, Value]]:
    """Each path and accepted value of a choice: switches, enumerations, kinds of back ends."""
    for name in ("preset", "size", "features"):
        yield from _choices(OpenStackDeploymentSpec.model_fields[name].annotation, name)
    yield from ((DRIVER, value) for value in (RBD, "any other"))


def _choices(kind: Any, path: str) -> Iterator[tuple[str, Value]]:
    origin, inner = get_origin(kind), get_args(kind)
    if origin is Annotated or origin is list:
        yield from _choices(inner[0], path)
    elif origin in (Union, types.UnionType):
        for each in inner:
            yield from _choices(each, path)
    elif origin is Literal and len(inner) > 1:  # a single value is no choice
        yield from ((path, value) for value in inner)
    elif origin is dict:
        if inner[1] in (GlanceStore, GlanceFileBackend):
            yield path.rpartition(".")[0], path.rpartition(".")[2]
        yield from _choices(inner[1], f"{path}.<name>")
    elif kind is bool:
        yield from ((path, value) for value in (True, False))
    elif isinstance(kind, type) and issubclass(kind, BaseModel) and not issubclass(kind, OffAnyway):
        for name, field in kind.model_fields.items():
            yield from _choices(field.annotation, f"{path}.{name}")


def untested(spec: BaseModel) -> Iterator[tuple[str, Value]]:
    """Explicitly set values of a cloud that no test uses; <name> in TESTED matches any name."""
    for name in ("preset", "size", "features"):
        yield from _asked(getattr(spec, name), name, name)


def untested_settings(service: str, settings: BaseModel) -> Iterator[tuple[str, Value]]:
    """The same for a single service; the path is that of a cloud."""
    yield from _asked(settings, f"features.{service}", f"features.{service}")


def _asked(value: Any, path: str, known: str) -> Iterator[tuple[str, Value]]:
    if isinstance(value, BaseModel):
        for name in sorted(value.model_fields_set):
            yield from _asked(getattr(value, name), f"{path}.{name}", f"{known}.{name}")
    elif isinstance(value, Mapping):
        for name, each in value.items():
            if isinstance(each, GlanceStore | GlanceFileBackend):
                above, _, kind = path.rpartition(".")
                yield from _asked(kind, above, known.rpartition(".")[0])
            yield from _asked(each, f"{path}.{name}", f"{known}.{'<name>' if known in NAMED else name}")
    elif isinstance(value, list | tuple):
        for each in value:
            yield from _asked(each, path, known)
    elif (known == DRIVER and value != RBD) or (
        isinstance(value, str | bool) and TESTED.get(known, {}).get(value) == RENDERED_ONLY
    ):
        yield path, value


NAMED = {path[: at - 1] for path in TESTED for at in range(len(path)) if path.startswith("<name>", at)}
"""Paths of mappings whose keys are names of the user's choice."""
