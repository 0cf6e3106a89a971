"""Chart values from the templates of an OpenStackControlPlane, each with its source field. Pure.

Replicas are set only if they are not 1, because 1 is the value of size `single` and the API server's default.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable
from typing import Any

from stackwright.api.fields import ini
from stackwright.api.rules import at
from stackwright.cloud.controlplane import OpenStackControlPlaneSpec
from stackwright.cloud.controlplane.infrastructure import RabbitTemplate
from stackwright.controllers.cloud.level import Level, Rank
from stackwright.controllers.cloud.selection import Wanted
from stackwright.services.declaration import Service

LevelValues = tuple[Level, dict[str, Any]]


def levels(spec: OpenStackControlPlaneSpec, wanted: Wanted) -> list[LevelValues]:
    """(level, chart → values) for one service object, in rising priority."""
    declared = wanted.declared
    own = LEVELS[declared.service](spec, wanted) if declared.service in LEVELS else ()
    programs = _programs(spec, declared) if declared.programs else ()
    return [(level, values) for level, values in (*own, *programs) if values]


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


def _dns(spec: OpenStackControlPlaneSpec, wanted: Wanted) -> Iterable[LevelValues]:
    if spec.designate and (records := spec.designate.template.ns_records):
        names = [f"{each.hostname.rstrip('.')}." for each in sorted(records, key=lambda record: record.priority)]
        values = {"designate": {"conf": {"pool": {"ns_records": names}}}}
        yield Level(Rank.FIELD, "spec.designate.template.nsRecords"), values


LEVELS: dict[str, Callable[[OpenStackControlPlaneSpec, Wanted], Iterable[LevelValues]]] = {
    "database": _database,
    "messaging": _messaging,
    "dns": _dns,
}


def _programs(spec: OpenStackControlPlaneSpec, declared: Service) -> Iterable[LevelValues]:
    """Replicas of the programs of a service; options of its template, then those of a program."""
    if (section := getattr(spec, declared.section)) is None:
        return
    raw = {"template": section.template.model_dump(by_alias=True)}
    paths = {f"template.{path}".rstrip("."): component for path, component in declared.programs.items()}
    for path, component in paths.items():
        yield _replicas(f"spec.{declared.section}.{path}", declared.name, component, at(raw, path)["replicas"])
    for path in dict.fromkeys(("template", *paths)):
        yield from _options(
            f"spec.{declared.section}.{path}", declared.name, at(raw, path).get("customServiceConfig") or ""
        )


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
