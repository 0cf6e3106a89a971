"""Chart values from the templates of an OpenStackControlPlane, each with its source field. Pure.

Replicas are set only if they are not 1, because 1 is the value of size `single` and the API server's default.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable
from typing import Any

from stackwright.api.fields import ini
from stackwright.cloud.controlplane import OpenStackControlPlaneSpec
from stackwright.cloud.controlplane.infrastructure import RabbitTemplate
from stackwright.cloud.controlplane.services import KeystoneTemplate, NeutronTemplate, NovaProgram, PlacementTemplate
from stackwright.controllers.cloud.level import Level, Rank
from stackwright.controllers.cloud.selection import Wanted

LevelValues = tuple[Level, dict[str, Any]]
Program = KeystoneTemplate | PlacementTemplate | NeutronTemplate | NovaProgram
NOVA_COMPONENTS = {
    "apiServiceTemplate": "api-osapi",
    "metadataServiceTemplate": "api-metadata",
    "schedulerServiceTemplate": "scheduler",
    "cellTemplates.cell1.conductorServiceTemplate": "conductor",
    "cellTemplates.cell1.noVNCProxyServiceTemplate": "novncproxy",
}

DESIGNATE_COMPONENTS = {
    "api": "designateAPI",
    "central": "designateCentral",
    "mdns": "designateMdns",
    "producer": "designateProducer",
    "worker": "designateWorker",
}


def levels(spec: OpenStackControlPlaneSpec, wanted: Wanted) -> list[LevelValues]:
    """(level, chart → values) for one service object, in rising priority."""
    found = LEVELS[wanted.declared.service](spec, wanted) if wanted.declared.service in LEVELS else ()
    return [(level, values) for level, values in found if values]


def _database(spec: OpenStackControlPlaneSpec, wanted: Wanted) -> Iterable[LevelValues]:
    if spec.galera is None:
        return
    template, where = spec.galera.templates.openstack, "spec.galera.templates.openstack"
    yield _replicas(where, "mariadb", "server", template.replicas)
    yield _volume(where, "mariadb", size=template.storage_request, class_name=template.storage_class)


def _messaging(spec: OpenStackControlPlaneSpec, wanted: Wanted) -> Iterable[LevelValues]:
    for template, where in _bus(spec, wanted):
        kept = template.persistence
        path = f"{where}.persistence"
        yield _volume(path, "rabbitmq", size=kept.storage, class_name=kept.storage_class_name)


def _bus(spec: OpenStackControlPlaneSpec, wanted: Wanted) -> Iterable[tuple[RabbitTemplate, str]]:
    """The template of one bus, and its path."""
    if spec.rabbitmq is None:
        return
    name = "rabbitmq" if wanted.name == wanted.declared.name else "rabbitmq-cell1"
    templates = {"rabbitmq": spec.rabbitmq.templates.rabbitmq, "rabbitmq-cell1": spec.rabbitmq.templates.rabbitmq_cell1}
    if template := templates[name]:
        yield template, f"spec.rabbitmq.templates.{name}"


def _identity(spec: OpenStackControlPlaneSpec, wanted: Wanted) -> Iterable[LevelValues]:
    if spec.keystone:
        yield from _program("spec.keystone.template", "keystone", "api", spec.keystone.template)


def _image(spec: OpenStackControlPlaneSpec, wanted: Wanted) -> Iterable[LevelValues]:
    if spec.glance:
        where, template = "spec.glance.template", spec.glance.template
        api = template.glance_apis.default
        yield _replicas(f"{where}.glanceAPIs.default", "glance", "api", api.replicas)
        yield from _options(where, "glance", template.custom_service_config)
        yield from _options(f"{where}.glanceAPIs.default", "glance", api.custom_service_config)


def _placement(spec: OpenStackControlPlaneSpec, wanted: Wanted) -> Iterable[LevelValues]:
    if spec.placement:
        yield from _program("spec.placement.template", "placement", "api", spec.placement.template)


def _networking(spec: OpenStackControlPlaneSpec, wanted: Wanted) -> Iterable[LevelValues]:
    if spec.neutron:
        yield from _program("spec.neutron.template", "neutron", "server", spec.neutron.template)


def _compute(spec: OpenStackControlPlaneSpec, wanted: Wanted) -> Iterable[LevelValues]:
    for path, program in spec.nova.template.programs().items() if spec.nova else ():
        yield from _program(f"spec.nova.template.{path}", "nova", NOVA_COMPONENTS[path], program)


def _orchestration(spec: OpenStackControlPlaneSpec, wanted: Wanted) -> Iterable[LevelValues]:
    if spec.heat:
        where, template = "spec.heat.template", spec.heat.template
        yield _replicas(f"{where}.heatAPI", "heat", "api", template.heat_api.replicas)
        yield _replicas(f"{where}.heatCfnAPI", "heat", "cfn", template.heat_cfn_api.replicas)
        yield _replicas(f"{where}.heatEngine", "heat", "engine", template.heat_engine.replicas)
        yield from _options(where, "heat", template.custom_service_config)


def _key_manager(spec: OpenStackControlPlaneSpec, wanted: Wanted) -> Iterable[LevelValues]:
    if spec.barbican:
        where, template = "spec.barbican.template", spec.barbican.template
        yield _replicas(f"{where}.barbicanAPI", "barbican", "api", template.barbican_api.replicas)
        yield _replicas(f"{where}.barbicanWorker", "barbican", "worker", template.barbican_worker.replicas)
        yield from _options(where, "barbican", template.custom_service_config)


def _dns(spec: OpenStackControlPlaneSpec, wanted: Wanted) -> Iterable[LevelValues]:
    if spec.designate:
        where, template = "spec.designate.template", spec.designate.template
        for component, name in DESIGNATE_COMPONENTS.items():
            program = getattr(template, f"designate_{component}")
            yield _replicas(f"{where}.{name}", "designate", component, program.replicas)
        names = [f"{each.hostname.rstrip('.')}." for each in sorted(template.ns_records, key=lambda it: it.priority)]
        yield (
            Level(Rank.FIELD, f"{where}.nsRecords"),
            {"designate": {"conf": {"pool": {"ns_records": names}}}} if names else {},
        )
        yield from _options(where, "designate", template.custom_service_config)


def _dashboard(spec: OpenStackControlPlaneSpec, wanted: Wanted) -> Iterable[LevelValues]:
    if spec.horizon:
        yield _replicas("spec.horizon.template", "horizon", "horizon", spec.horizon.template.replicas)


LEVELS: dict[str, Callable[[OpenStackControlPlaneSpec, Wanted], Iterable[LevelValues]]] = {
    "database": _database,
    "messaging": _messaging,
    "identity": _identity,
    "image": _image,
    "placement": _placement,
    "networking": _networking,
    "compute": _compute,
    "orchestration": _orchestration,
    "key-manager": _key_manager,
    "dns": _dns,
    "dashboard": _dashboard,
}


def _program(where: str, chart: str, component: str, template: Program) -> Iterable[LevelValues]:
    yield _replicas(where, chart, component, template.replicas)
    yield from _options(where, chart, template.custom_service_config)


def _replicas(where: str, chart: str, component: str, count: int) -> LevelValues:
    values = {chart: {"pod": {"replicas": {component: count}}}} if count != 1 else {}
    return Level(Rank.FIELD, f"{where}.replicas"), values


def _volume(where: str, chart: str, **wanted: str | None) -> LevelValues:
    found = {name: value for name, value in wanted.items() if value}
    return Level(Rank.FIELD, where), {chart: {"volume": found}} if found else {}


def _options(where: str, chart: str, text: str) -> Iterable[LevelValues]:
    """Options of the file with the chart's name. The first level removes lower values of any type."""
    if found := ini.sections(text):
        level = Level(Rank.FIELD, f"{where}.customServiceConfig")
        none = {section: dict.fromkeys(options) for section, options in found.items()}
        written = {
            section: {name: _value(value) for name, value in options.items()} for section, options in found.items()
        }
        yield level, {chart: {"conf": {chart: none}}}
        yield level, {chart: {"conf": {chart: written}}}


def _value(value: str | list[str]) -> Any:
    """An option in the charts' format: a repeated option has one line per value."""
    return {"type": "multistring", "values": value} if isinstance(value, list) else value
