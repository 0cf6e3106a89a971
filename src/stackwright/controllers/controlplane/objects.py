"""Converts an OpenStackControlPlane to an OpenStackDeploymentSpec, and the fields that have no place in it to
refinements of service objects. Pure.

The models have already validated everything here.
"""

from __future__ import annotations

from typing import Any

from stackwright.api.services.kinds import OPENSTACK_RELEASE
from stackwright.cloud.controlplane import OpenStackControlPlaneSpec
from stackwright.cloud.deployment import OpenStackDeploymentSpec
from stackwright.controllers.cloud.objects import Refinement
from stackwright.controllers.cloud.selection import Wanted
from stackwright.controllers.controlplane.levels import levels
from stackwright.services.registry import PRESETS
from stackwright.services.registry import SERVICES as DECLARED

# Section → short name of its service.
SERVICES = {declared.section: declared.service for declared in DECLARED if declared.section}


def deployment(spec: OpenStackControlPlaneSpec) -> OpenStackDeploymentSpec:
    """The equivalent OpenStackDeploymentSpec."""
    wanted = {word for section, word in SERVICES.items() if spec.on(section)}
    features: dict[str, Any] = {
        "services": [
            *(f"~{word}" for word in PRESETS["core"] if word not in wanted),
            *sorted(wanted - set(PRESETS["core"])),
        ],
        "messaging": {"components_with_dedicated_messaging": ["compute"] if _own_bus(spec) else []},
    }
    for section, words in (("keystone", _keystone), ("glance", _glance), ("neutron", _neutron), ("nova", _nova)):
        if spec.on(section) and (found := words(spec)):
            features[section] = found
    return OpenStackDeploymentSpec.model_validate(
        {
            "openstack_version": OPENSTACK_RELEASE,
            "preset": "core",
            "size": "single",
            "region_name": spec.keystone.template.region if spec.keystone else "regionOne",
            "local_volume_storage_class": spec.storage_class,
            "features": features,
        }
    )


def _own_bus(spec: OpenStackControlPlaneSpec) -> bool:
    return bool(spec.rabbitmq and spec.rabbitmq.templates.rabbitmq_cell1) and spec.on("nova")


def _keystone(spec: OpenStackControlPlaneSpec) -> dict[str, Any]:
    project = spec.keystone.template.admin_project if spec.keystone else "admin"
    return {"users": {"admin": {"project_name": project}}} if project != "admin" else {}


def _glance(spec: OpenStackControlPlaneSpec) -> dict[str, Any]:
    storage = spec.glance.template.storage if spec.glance else None
    if storage is None:
        return {}
    volume = {"size": storage.storage_request, "storage_class_name": storage.storage_class}
    return {"backends": {"file": {"images": {"default": True, "pvc": volume}}}}


def _neutron(spec: OpenStackControlPlaneSpec) -> dict[str, Any]:
    drivers = spec.neutron.template.ml2_mechanism_drivers if spec.neutron else []
    return {"backend": "ml2/ovn"} if drivers == ["ovn"] else {}


def _nova(spec: OpenStackControlPlaneSpec) -> dict[str, Any]:
    proxy = spec.nova.template.cell_templates.cell1.no_vnc_proxy_service_template if spec.nova else None
    return {"console": {"novnc": {"enabled": False}}} if proxy and not proxy.enabled else {}


def refinement(spec: OpenStackControlPlaneSpec, wanted: Wanted) -> Refinement:
    """Additions to one service object beyond what `deployment` expresses."""
    word = wanted.declared.service
    settings: dict[str, Any] = {}
    if word == "identity" and spec.keystone:
        template = spec.keystone.template
        secret = template.secret or spec.secret
        settings = {"admin_password": {"name": secret, "key": template.password_selectors.admin}}
    servers = spec.memcached.templates.memcached.replicas if spec.memcached else 1
    fields = {"memcachedReplicas": servers} if servers != 1 else {}
    return Refinement(levels(spec, wanted), settings, fields)
