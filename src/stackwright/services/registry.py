"""All services. A new service adds its folder and one line here."""

from __future__ import annotations

from importlib import import_module

from stackwright.services.declaration import AgentList, Preset, Public, Service

# Folders, in the order in which services are written and shown.
_FOLDERS = (
    "mariadb",
    "rabbitmq",
    "memcached",
    "etcd",
    "ceph",
    "keystone",
    "ingress",
    "ceph_rgw",
    "glance",
    "placement",
    "cinder",
    "neutron",
    "nova",
    "heat",
    "barbican",
    "designate",
    "horizon",
)
SERVICES: tuple[Service, ...] = tuple(import_module(f"stackwright.services.{each}").SERVICE for each in _FOLDERS)

BY_SERVICE = {declared.service: declared for declared in SERVICES}
BY_KIND = {declared.kind.kind: declared for declared in SERVICES}
VOTING = {chart.name: chart for declared in SERVICES for chart in declared.charts if chart.voters}
PRESETS: dict[Preset, tuple[str, ...]] = {
    preset: tuple(declared.service for declared in SERVICES if preset in declared.presets)
    for preset in ("core", "compute")
}
# Service → its public host.
PUBLIC: dict[str, Public] = {declared.service: declared.public[0] for declared in SERVICES if declared.public}
AGENT_LISTS: dict[str, AgentList] = {each.service: each.agent_list for each in SERVICES if each.agent_list}
