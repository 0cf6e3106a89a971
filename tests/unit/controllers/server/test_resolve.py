"""Names in a server's spec become questions, and ids."""

from __future__ import annotations

from typing import Any

from stackwright.controllers.infra.references import Answers
from stackwright.controllers.server.resolve import Resolved, resolve
from stackwright.core.openstack.clouds import Query, query
from stackwright.core.openstack.resources import CloudResource

ID = "6ba7b810-9dad-11d1-80b4-00c04fd430c8"
NETWORK = {"network": {"id": ID}}
GROUPS = [{"filter": {"name": f"g{number}"}} for number in range(64)]
OWN = {"securityGroups": [{"filter": {"name": "own"}}]}


def resolved(answers: Answers, *ports: Any, groups: Any = GROUPS) -> Resolved:
    spec = {"flavorID": "f", "image": {"id": ID}, "securityGroups": groups, "ports": list(ports)}
    return resolve("web", spec, {}, answers)


def asked(found: Resolved) -> list[Any]:
    return [dict(each.where)["name"] for each in found.missing]


def test_groups_of_many_ports_are_queried_and_reported_once() -> None:
    """Every port queried and reported each group: 64 ports with 30,000 groups exhausted the operator's memory."""
    ports = [NETWORK] * 64
    found = resolved({}, *ports)
    assert asked(found) == [f"g{number}" for number in range(64)]
    none: dict[Query, tuple[CloudResource, ...]] = dict.fromkeys(found.missing, ())
    problems = resolved(none, *ports).problems
    assert len(problems) == 64
    assert problems[7] == "spec.securityGroups[7]: security-group with name g7 must match exactly one: found none"


def test_a_resource_that_several_ports_name_is_queried_once() -> None:
    ports = [{"network": {"filter": {"name": "n"}}, **OWN}] * 64
    assert asked(resolved({}, *ports)) == ["n", "own"]


def test_groups_of_the_server_apply_to_secured_ports_without_groups() -> None:
    answers: dict[Query, tuple[CloudResource, ...]] = {
        query("security-group", name=name): (CloudResource("security-group", f"id-{name}"),) for name in ("g", "own")
    }
    groups = [{"filter": {"name": "g"}}]
    found = resolved(answers, NETWORK, {**NETWORK, **OWN}, {**NETWORK, "enablePortSecurity": False}, groups=groups)
    assert found.value is not None
    assert [port.get("securityGroups") for port in found.value["ports"]] == [["id-g"], ["id-own"], None]
    assert asked(resolved({}, {**NETWORK, **OWN}, {**NETWORK, "enablePortSecurity": False})) == ["own"]
