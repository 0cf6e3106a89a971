"""A machine of a cluster, or a bastion, as an OpenStackServer."""

from __future__ import annotations

from typing import Any

import pytest

from stackwright.api.infra.machine import OpenStackMachine
from stackwright.controllers.infra.server_template import (
    MADE_OF,
    ClusterDefaults,
    lacks_network,
    made_of,
    propagated,
    server_object,
    server_spec,
)
from stackwright.core.plan import Object
from support.infra_specs import ID, OTHER

PLACE = ClusterDefaults({"type": "Secret", "name": "clouds", "cloudName": "mine"}, network=ID, subnets=({"id": OTHER},))
OWNER = {"apiVersion": "v", "kind": "OpenStackMachine", "metadata": {"name": "m", "namespace": "ns", "uid": "u"}}


def machine(**spec: Any) -> dict[str, Any]:
    found, errors = OpenStackMachine.parsed({"spec": {"flavor": "small", "image": {"id": ID}, **spec}})
    assert not errors
    return found


@pytest.mark.parametrize(
    ("flavor", "field", "value"),
    [
        ({"flavor": "small"}, "flavor", "small"),
        ({"flavor": {"filter": {"name": "small"}}}, "flavor", "small"),
        ({"flavor": {"id": "7"}}, "flavorID", "7"),
        ({"flavor": "small", "flavorID": "7"}, "flavorID", "7"),
    ],
)
def test_a_flavor_in_any_spelling(flavor: dict[str, Any], field: str, value: str) -> None:
    found = server_spec(machine(**flavor), PLACE)
    assert {name: found.get(name) for name in ("flavor", "flavorID") if name in found} == {field: value}


def test_absent_fields_are_not_written() -> None:
    found = server_spec(machine(), PLACE, availabilityZone=None, userDataRef=None)
    assert found == {
        "image": {"id": ID},
        "sshKeyName": "",
        "trunk": False,
        "configDrive": False,
        "recreatePolicy": "Never",
        "credentialsLostPolicy": "Wait",
        "flavor": "small",
        "identityRef": dict(PLACE.identity),
        "ports": [{"network": {"id": ID}, "fixedIPs": [{"subnet": {"id": OTHER}}]}],
    }


def test_a_port_with_a_subnet_is_in_it_and_not_in_the_clusters_network() -> None:
    port = {"fixedIPs": [{"subnet": {"id": ID}}]}
    assert server_spec(machine(ports=[port]), PLACE)["ports"] == [port]
    assert not lacks_network(machine(ports=[port]), ClusterDefaults({}))
    assert lacks_network(machine(), ClusterDefaults({}))
    assert lacks_network(machine(ports=[port, {}]), ClusterDefaults({}))


def test_a_group_is_set_once() -> None:
    place = ClusterDefaults({}, network=ID, group=OTHER)
    assert server_spec(machine(securityGroups=[{"id": OTHER}]), place)["ports"][0]["securityGroups"] == [{"id": OTHER}]


def test_port_security_of_the_clusters_network_is_that_of_ports_in_it_and_of_no_others() -> None:
    place = ClusterDefaults({}, network=ID, secured=False, group=OTHER)
    ports = [
        {},
        {"network": {"id": OTHER}},
        {"enablePortSecurity": True},
        {"network": {"id": OTHER}, "enablePortSecurity": False},
    ]
    found = server_spec(machine(ports=ports), place)["ports"]
    assert [port.get("securityGroups") for port in found] == [None, [{"id": OTHER}], [{"id": OTHER}], None]


def spec(**more: Any) -> dict[str, Any]:
    return {**server_spec(machine(), PLACE), **more}


def test_explicit_defaults_and_mutable_fields_do_not_change_the_server() -> None:
    said = {"trunk": False, "tags": [], "recreatePolicy": "Always", "credentialsLostPolicy": "Orphan"}
    other = {"type": "Secret", "name": "others", "cloudName": "mine"}
    assert made_of(spec(**said, identityRef=other)) == made_of(spec())
    assert made_of(spec(sshKeyName="me")) != made_of(spec())
    assert made_of(spec(ports=[{"network": {"id": OTHER}}])) != made_of(spec())


def test_only_mutable_fields_are_propagated() -> None:
    server: Object = server_object(("ns", "m"), OWNER, spec(tags=["first"]), "c")
    server["metadata"]["uid"] = "s"
    assert propagated(server, OWNER, machine(sshKeyName="new"), PLACE.identity) == ()
    (apply,) = propagated(server, OWNER, machine(credentialsLostPolicy="Detach", sshKeyName="new"), None)
    assert apply.obj["spec"] == {**server["spec"], "credentialsLostPolicy": "Detach"}
    assert apply.obj["metadata"]["annotations"] == {MADE_OF: made_of(server["spec"])}
    assert apply.obj["metadata"]["labels"] == server["metadata"]["labels"]
