"""The programs of the sections of an OpenStackControlPlane, as the services declare them."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

from stackwright.cloud.controlplane import OpenStackControlPlaneSpec
from stackwright.services.registry import SERVICES
from support.paths import ROOT

DECLARED = {
    ".".join(filter(None, (each.section, "template", path))): (each.name, component)
    for each in SERVICES
    for path, component in each.programs.items()
}
SERVERS = {"galera.templates.openstack", "memcached.templates.memcached"}
ONE = {"rabbitmq.templates.rabbitmq"}  # of these, exactly one is accepted


def replicas(raw: Any, *path: str) -> Iterator[str]:
    """Paths of the fields with numbers of replicas."""
    for name, value in raw.items() if isinstance(raw, dict) else ():
        if name == "replicas":
            yield ".".join(path)
        yield from replicas(value, *path, name)


def known() -> set[str]:
    sections: dict[str, Any] = {each.section: {"enabled": True} for each in SERVICES if each.section}
    spec = OpenStackControlPlaneSpec.model_validate({"secret": "s", "storageClass": "", **sections})
    return set(replicas(spec.model_dump(by_alias=True))) - ONE


def test_each_number_of_replicas_is_that_of_a_declared_program() -> None:
    assert known() == DECLARED.keys() | SERVERS


def test_the_components_of_programs_are_those_of_the_chart() -> None:
    values = {name: (ROOT / f"charts/{name}/values.yaml").read_text() for name, _ in DECLARED.values()}
    assert [each for each in DECLARED.values() if f"    {each[1]}:" not in values[each[0]]] == []
