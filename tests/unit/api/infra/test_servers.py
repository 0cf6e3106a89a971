"""The kinds of infrastructure.cluster.x-k8s.io: rejected values with their messages, and both spellings of fields."""

from __future__ import annotations

import time
from collections.abc import Callable
from typing import Annotated, Any

import pytest
from pydantic import TypeAdapter, ValidationError

from stackwright.admission.validate import errors_of
from stackwright.api.infra.capi import MANY, MOST, Keyed, wire_name
from stackwright.api.infra.cluster.cluster import OpenStackCluster, OpenStackClusterSpec
from stackwright.api.infra.cluster.parts import ManagedSecurityGroups
from stackwright.api.infra.cluster.spelling import external, floating
from stackwright.api.infra.floatingippool import GIVEN
from stackwright.api.infra.identity import LabelSelector
from stackwright.api.infra.machine import OpenStackMachineSpec, flavor_of
from stackwright.api.infra.ports import PortOpts
from stackwright.api.infra.server import OpenStackServer
from stackwright.api.rules import ERRORS
from stackwright.cli.manifests.load import check
from stackwright.cloud.registry import BY_KIND, INFRA_KINDS
from stackwright.controllers.server.resolve import resolve
from stackwright.core.openstack.resources import SERVER_KEY, mark
from support.infra_specs import ID, MACHINE, OLDER, RULE
from support.server_objects import GOOD, changed, later, obj

DEVICE = {"name": "root", "sizeGiB": 1, "storage": {"type": "Local"}}
ZONE = "spec.rootVolume.availabilityZone.name"
NEEDED = "is required if and only if from is Name, the default"
MARKED = mark("11111111-1111-4111-8111-111111111111", SERVER_KEY)
UNSUPPORTED = "is not supported by this version of Stackwright; remove it"
NO_FLOATING = "must be false (disableAPIServerFloatingIP: true) without an external network"


def errors(kind: str, changes: dict[str, Any]) -> list[str]:
    return errors_of(obj(kind, changed(GOOD[kind], changes)))


@pytest.mark.parametrize("kind", GOOD)
def test_valid_specs_are_accepted(kind: str) -> None:
    assert errors(kind, {}) == []
    assert {resource.KIND.kind for resource in INFRA_KINDS} == set(GOOD)


REFUSED = [
    # names of resources in the OpenStack
    (
        "OpenStackServer",
        {"image": {"id": ID, "imageRef": {"name": "x"}}},
        "spec.image: write exactly one of id, filter, imageRef",
    ),
    ("OpenStackServer", {"image": {}}, "spec.image: write exactly one of id, filter, imageRef"),
    ("OpenStackServer", {"image": {"id": "jammy"}}, "spec.image.id: must be a UUID, not 'jammy'"),
    (
        "OpenStackServer",
        {"image": {"filter": {}}},
        "spec.image.filter: must not be empty; write at least one of name, tags",
    ),
    (
        "OpenStackServer",
        {"ports.0.network": {"id": ID, "filter": {"name": "x"}}},
        "spec.ports[0].network: write exactly one of id, filter",
    ),
    (
        "OpenStackServer",
        {"ports.0.network": {"filter": {"tagsAny": ["a,b"]}}},
        "spec.ports[0].network.filter.tagsAny[0]: must be one line without commas, at most 255 characters, not 'a,b'",
    ),
    (
        "OpenStackServer",
        {"ports.0.fixedIPs": [{"subnet": {"filter": {"ipVersion": 5}}}]},
        "spec.ports[0].fixedIPs[0].subnet.filter.ipVersion: 5 is not allowed; allowed: 4 or 6",
    ),
    ("OpenStackServer", {"serverGroup": {"id": "x"}}, "spec.serverGroup.id: must be a UUID, not 'x'"),
    # the server
    ("OpenStackServer", {"flavor": None}, "spec.flavor: write flavor, a name, or flavorID"),
    ("OpenStackServer", {"flavor": ""}, "spec.flavor: must not be empty"),
    ("OpenStackServer", {"identityRef": None}, "spec.identityRef: is required"),
    ("OpenStackServer", {"sshKeyName": None}, "spec.sshKeyName: is required"),
    ("OpenStackServer", {"ports": []}, "spec.ports: must not be empty"),
    (
        "OpenStackServer",
        {"identityRef.type": "Vault"},
        "spec.identityRef.type: 'Vault' is not allowed; allowed: 'Secret' or 'ClusterIdentity'",
    ),
    (
        "OpenStackServer",
        {"identityRef.cloudName": ""},
        "spec.identityRef.cloudName: must not be empty",
    ),
    ("OpenStackServer", {"tags": ["a", "b", "a"]}, "spec.tags: duplicate entry: a"),
    (
        "OpenStackServer",
        {"recreatePolicy": "Often"},
        "spec.recreatePolicy: 'Often' is not allowed; allowed: 'Never' or 'Always'",
    ),
    (
        "OpenStackServer",
        {"credentialsLostPolicy": "Drop"},
        "spec.credentialsLostPolicy: 'Drop' is not allowed; allowed: 'Wait', 'Detach' or 'Orphan'",
    ),
    (
        "OpenStackServer",
        {"serverMetadata": [{"key": "k", "value": "x" * 256}]},
        "spec.serverMetadata[0].value: must have at most 255 characters",
    ),
    (
        "OpenStackServer",
        {"serverMetadata": [{"key": "k", "value": "1"}, {"key": "k", "value": "2"}]},
        "spec.serverMetadata: duplicate entry: k",
    ),
    # ports
    (
        "OpenStackServer",
        {"ports.0.disablePortSecurity": True, "ports.0.enablePortSecurity": False},
        "spec.ports[0].enablePortSecurity: set this field or disablePortSecurity, not both",
    ),
    *(
        (
            "OpenStackServer",
            {f"ports.0.{field}": off, "ports.0.securityGroups": [{"id": ID}]},
            "spec.ports[0].securityGroups: must be absent if port security is disabled",
        )
        for field, off in (("disablePortSecurity", True), ("enablePortSecurity", False))
    ),
    # disks
    (
        "OpenStackServer",
        {"rootVolume.sizeGiB": 0},
        "spec.rootVolume.sizeGiB: must be at least 1, not 0",
    ),
    (
        "OpenStackServer",
        {"rootVolume": {"sizeGiB": 1, "availabilityZone": {}}},
        f"{ZONE}: {NEEDED}",
    ),
    (
        "OpenStackServer",
        {"rootVolume": {"sizeGiB": 1, "availabilityZone": {"from": "Machine", "name": "a"}}},
        f"{ZONE}: {NEEDED}",
    ),
    (
        "OpenStackServer",
        {"rootVolume": {"sizeGiB": 1, "availabilityZone": {"name": "a b"}}},
        f"{ZONE}: must be one line without spaces, at most 255 characters, not 'a b'",
    ),
    (
        "OpenStackServer",
        {"rootVolume.sizeGiB": 1, "additionalBlockDevices": [DEVICE]},
        "spec.additionalBlockDevices: a device named root is not allowed together with rootVolume",
    ),
    # hints
    *(
        (
            "OpenStackServer",
            {"schedulerHintAdditionalProperties": [{"name": "a", "value": {"type": type_}}]},
            f"spec.schedulerHintAdditionalProperties[0].value.{field}: is required if and only if type is {type_}",
        )
        for type_, field in (("Bool", "bool"), ("String", "string"), ("Number", "number"))
    ),
    (
        "OpenStackServer",
        {"schedulerHintAdditionalProperties": [{"name": "a", "value": {"type": "Bool", "bool": True, "number": 1}}]},
        "spec.schedulerHintAdditionalProperties[0].value.number: is required if and only if type is Number",
    ),
    # the machine
    ("OpenStackMachine", {"flavor": None}, "spec.flavor: write flavor or flavorID"),
    ("OpenStackMachine", {"flavor": 5}, "spec.flavor: write the name of a flavor, or one of id, filter, not 5"),
    ("OpenStackMachine", {"flavor": ""}, "spec.flavor: write the name of a flavor, or one of id, filter, not ''"),
    (
        "OpenStackMachine",
        {"flavor": {"id": "1", "filter": {"name": "a"}}},
        "spec.flavor: write exactly one of id, filter",
    ),
    (
        "OpenStackMachine",
        {"flavor": {"id": "1"}, "flavorID": "1"},
        "spec.flavorID: write flavor.id or flavorID, not both",
    ),
    (
        "OpenStackMachineTemplate",
        {"template.spec.providerID": "x"},
        "spec.template.spec.providerID: belongs to one machine, not to a template",
    ),
    # the cluster
    (
        "OpenStackCluster",
        {"managedSubnets": [{"cidr": "10.0.0.0/24"}, {"cidr": "10.0.1.0/24"}]},
        "spec.managedSubnets: must have at most 1 entry",
    ),
    (
        "OpenStackCluster",
        {"managedNetwork": {}},
        "spec.managedNetwork: must not be empty; write at least one of mtu, enablePortSecurity",
    ),
    ("OpenStackCluster", {"managedRouter": {}}, "spec.managedRouter.externalIPs: is required"),
    ("OpenStackCluster", {"bastion": {}}, "spec.bastion.spec: is required while the bastion is enabled"),
    (
        "OpenStackCluster",
        {"bastion": {"spec": MACHINE, "floatingIP": "host"}},
        "spec.bastion.floatingIP: must be an IPv4 address, not 'host'",
    ),
    *(
        (
            "OpenStackCluster",
            {
                external: value,
                "disableAPIServerFloatingIP": True,
                "bastion": {"spec": MACHINE, "floatingIP": "192.0.2.1"},
            },
            "spec.bastion.floatingIP: must be absent without an external network",
        )
        for external, value in (("disableExternalNetwork", True), ("enableExternalNetwork", False))
    ),
    *(
        (
            "OpenStackCluster",
            {"enableExternalNetwork": False, **floating},
            f"spec.apiServer.enableFloatingIP: {NO_FLOATING}",
        )
        for floating in ({}, {"apiServer": {"enableFloatingIP": True}}, {"disableAPIServerFloatingIP": False})
    ),
    (
        "OpenStackCluster",
        {"apiServerLoadBalancer": {"enabled": True}},
        "spec.apiServerLoadBalancer.enabled: is not supported by this version of Stackwright; only enabled: false",
    ),
    ("OpenStackCluster", {"apiServer.managedLoadBalancer": {}}, f"spec.apiServer.managedLoadBalancer: {UNSUPPORTED}"),
    (
        "OpenStackCluster",
        {
            "managedSecurityGroups": {
                "workerNodesSecurityGroupRules": [{**RULE, "remoteGroupID": "x", "remoteIPPrefix": "::/0"}]
            }
        },
        "spec.managedSecurityGroups.workerNodesSecurityGroupRules[0]: at most one of remoteGroupID, remoteIPPrefix, ",
    ),
    (
        "OpenStackCluster",
        {"managedSecurityGroups": {"allNodesSecurityGroupRules": [RULE], "clusterNodesSecurityGroupRules": [RULE]}},
        "spec.managedSecurityGroups.clusterNodesSecurityGroupRules: "
        "set this field or allNodesSecurityGroupRules, not both",
    ),
    # tags that would be taken for the mark of another object
    (
        "OpenStackServer",
        {"tags": ["a", MARKED]},
        f"spec.tags: {MARKED} has the reserved form of the operator",
    ),
    ("OpenStackServer", {"ports": [{"tags": [MARKED]}]}, f"spec.ports[0].tags: {MARKED} has the reserved form"),
    ("OpenStackMachine", {"tags": [MARKED]}, f"spec.tags: {MARKED} has the reserved form"),
    ("OpenStackCluster", {"tags": [MARKED]}, f"spec.tags: {MARKED} has the reserved form"),
    # the others
    (
        "OpenStackFloatingIPPool",
        {"preAllocatedFloatingIPs": ["x"]},
        "spec.preAllocatedFloatingIPs[0]: must be an IPv4 address, not 'x'",
    ),
    (
        "OpenStackFloatingIPPool",
        {"reclaimPolicy": "Keep"},
        "spec.reclaimPolicy: 'Keep' is not allowed; allowed: 'Retain' or 'Delete'",
    ),
    (
        "OpenStackClusterIdentity",
        {"namespaceSelector.matchExpressions": [{"key": "a", "operator": "In"}]},
        "spec.namespaceSelector.matchExpressions[0].values: "
        "is required by In and NotIn, and not allowed for other operators",
    ),
]


@pytest.mark.parametrize(("kind", "changes", "told"), REFUSED)
def test_a_rejection_names_place_cause_and_allowed_values(kind: str, changes: dict[str, Any], told: str) -> None:
    (found,) = errors(kind, changes)
    assert found.startswith(told)


GROUPS = "managedSecurityGroups.workerNodesSecurityGroupRules"
PORT_RANGE = {"portRangeMin": 80, "portRangeMax": 22}
ADDRESS, RANGE = "must be an IP address", "must be an IP address or a range such as 10.6.0.0/24"
NETWORK_VALUES = [
    ("OpenStackServer", "ports[0].fixedIPs[0]", "ipAddress", "10.0.0.300", ADDRESS),
    ("OpenStackServer", "ports[0].fixedIPs[0]", "ipAddress", "10.0.0.0/24", ADDRESS),
    ("OpenStackServer", "ports[0].allowedAddressPairs[0]", "ipAddress", "x", RANGE),
    ("OpenStackServer", "ports[0]", "macAddress", "zz", "must be a MAC address such as fa:16:3e:00:00:01"),
    ("OpenStackCluster", "managedSubnets[0].allocationPools[0]", "end", "10.6", ADDRESS),
    ("OpenStackCluster", f"{GROUPS}[0]", "remoteIPPrefix", "everywhere", RANGE),
    (
        "OpenStackCluster",
        f"{GROUPS}[0]",
        "protocol",
        "http",
        "must be a protocol such as tcp, or its number, at most 255",
    ),
    (
        "OpenStackCluster",
        f"{GROUPS}[0]",
        "protocol",
        "256",
        "must be a protocol such as tcp, or its number, at most 255",
    ),
]
NEEDED = {
    "allowedAddressPairs": {"ipAddress": "10.0.0.1"},
    "allocationPools": {"start": "10.6.0.1", "end": "10.6.0.9"},
    "managedSubnets": {"cidr": "10.6.0.0/24"},
    "workerNodesSecurityGroupRules": RULE,
}


def nested(path: str, field: str, value: Any) -> dict[str, Any]:
    """The changes of a spec that set a field at a path of lists, with what their items need."""
    whole: Any = {field: value}
    for part in reversed(path.split(".")):
        name, item, _ = part.partition("[")
        whole = {name: [{**NEEDED.get(name, {}), **whole}] if item else whole}
    return whole  # type: ignore[no-any-return]


@pytest.mark.parametrize(("kind", "path", "field", "value", "problem"), NETWORK_VALUES)
def test_values_that_neutron_rejects_are_refused(kind: str, path: str, field: str, value: str, problem: str) -> None:
    assert errors(kind, nested(path, field, value)) == [f"spec.{path}.{field}: {problem}, not '{value}'"]
    assert errors(kind, nested(path, field, "")) in ([], [f"spec.{path}.{field}: must not be empty"])


@pytest.mark.parametrize(
    ("kind", "path", "field", "value"),
    [
        *(("OpenStackServer", "ports[0].fixedIPs[0]", "ipAddress", value) for value in ("10.0.0.3", "fd00::3")),
        *(
            ("OpenStackServer", "ports[0].allowedAddressPairs[0]", "ipAddress", value)
            for value in ("10.0.0.3", "10.0.0.3/24", "fd00::/8")
        ),
        *(
            ("OpenStackServer", "ports[0]", "macAddress", value)
            for value in ("fa:16:3e:00:00:01", "FA-16-3E-0-0-1", "fa16.3e00.0001", "fa163e000001", "fa163e-000001")
        ),
        *(("OpenStackCluster", f"{GROUPS}[0]", "remoteIPPrefix", value) for value in ("::/0", "10.0.0.1")),
        *(("OpenStackCluster", f"{GROUPS}[0]", "protocol", value) for value in ("TCP", "4", "0", "255", "any", "vrrp")),
    ],
)
def test_values_that_neutron_accepts_are_accepted(kind: str, path: str, field: str, value: str) -> None:
    assert errors(kind, nested(path, field, value)) == []


@pytest.mark.parametrize(
    "ports",
    [[{"fixedIPs": [{"ipAddress": "TODO"}]}], [{"macAddress": "TODO"}, {"allowedAddressPairs": [{"ipAddress": "x"}]}]],
)
def test_addresses_in_a_disabled_bastion_may_be_wrong(ports: list[dict[str, Any]]) -> None:
    identity = GOOD["OpenStackCluster"]["identityRef"]
    machine = {**MACHINE, "identityRef": identity, "ports": ports}
    bastion = {"enabled": False, "spec": machine}
    spec, found = OpenStackCluster.parsed(
        {"spec": {"identityRef": identity, "disablePortSecurity": True, "bastion": bastion}}
    )
    assert (found, spec["managedNetwork"]) == ([], {"enablePortSecurity": False})
    assert spec["bastion"]["spec"]["identityRef"]["name"] == identity["name"]
    assert len(errors("OpenStackCluster", {"bastion": {"spec": machine}})) == len(ports)
    machine["ports"] = [*ports, {"unknown": 1}]
    assert "unknown field" in errors("OpenStackCluster", {"bastion": bastion})[-1]


@pytest.mark.parametrize(
    ("pools", "told"),
    [
        ([("10.6.0.2", "10.6.0.254")], []),
        ([("10.6.0.9", "10.6.0.9"), ("10.6.0.2", "10.6.0.8")], []),
        ([("10.6.0.9", "10.6.0.9"), ("10.6.0.1", "10.6.0.8")], ["gateway"]),
        ([("10.6.0.1", "10.6.0.1")], ["gateway"]),
        ([("10.6.1.1", "10.6.1.9")], ["within"]),
        ([("10.6.0.0", "10.6.0.9")], ["within", "gateway"]),
        ([("10.6.0.9", "10.6.0.255")], ["within"]),
        ([("fd00::1", "fd00::9")], ["within"]),
        ([("10.6.0.2", "10.6.0.9"), ("10.6.0.9", "10.6.0.19")], ["overlap"]),
        ([("10.6.0.9", "10.6.0.1")], ["backwards"]),
        (
            [("10.6.0.9", "10.6.0.1"), ("10.6.1.1", "10.6.1.9"), ("10.6.1.2", "10.6.1.3")],
            ["backwards", "within", "overlap"],
        ),
        ([("10.6.0.9", "x"), ("10.6.1.1", "10.6.1.9")], ["address", "within"]),
    ],
)
def test_the_allocation_pools_of_a_subnet_are_those_that_neutron_accepts(
    pools: list[tuple[str, str]], told: list[str]
) -> None:
    at = "spec.managedSubnets[0].allocationPools"
    messages = {
        "within": f"{at}: must be within cidr, without its first and last address",
        "overlap": f"{at}: must not overlap",
        "gateway": f"{at}: must not contain the gateway, the first address after the network address",
        "backwards": f"{at}[0].end: must not be before start",
        "address": f"{at}[0].end: {ADDRESS}, not 'x'",
    }
    subnet = {"cidr": "10.6.0.0/24", "allocationPools": [{"start": start, "end": end} for start, end in pools]}
    assert sorted(errors("OpenStackCluster", {"managedSubnets": [subnet]})) == sorted(messages[each] for each in told)


@pytest.mark.parametrize("older", [True, False])
@pytest.mark.parametrize("field", ["fixedIP", "floatingIP"])
def test_the_addresses_of_the_api_are_addresses(field: str, older: bool) -> None:
    name = f"apiServer{field[0].upper()}{field[1:]}"
    at = f"spec.{name}" if older else f"spec.apiServer.{field}"
    for value, told in (("zzz", [f"{at}: {ADDRESS}, not 'zzz'"]), ("192.0.2.9", []), ("", [])):
        assert errors("OpenStackCluster", {name: value} if older else {"apiServer": {field: value}}) == told


@pytest.mark.parametrize("name", ["apiServerFixedIP", "apiServer"])
def test_the_fixed_address_of_the_api_is_not_the_gateway(name: str) -> None:
    subnets = [{"cidr": "10.6.0.0/24"}]
    for address, wrong in (("10.6.0.1", True), ("10.6.0.2", False)):
        api = address if name == "apiServerFixedIP" else {"fixedIP": address}
        found = errors("OpenStackCluster", {"managedSubnets": subnets, name: api})
        assert found == ["spec.apiServer.fixedIP: must not be the gateway of managedSubnets"] * wrong


def test_the_dns_servers_of_a_subnet_are_addresses() -> None:
    found = errors("OpenStackCluster", {"managedSubnets": [{"cidr": "10.6.0.0/24", "dnsNameservers": ["dns"]}]})
    assert found == [f"spec.managedSubnets[0].dnsNameservers[0]: {ADDRESS}, not 'dns'"]


@pytest.mark.parametrize(
    ("more", "told"),
    [
        ({"protocol": "tcp", **PORT_RANGE}, "portRangeMax: must be at least portRangeMin"),
        ({"protocol": "icmp", **PORT_RANGE}, ""),
        ({"protocol": "ICMP", **PORT_RANGE}, ""),
        ({"protocol": "58", **PORT_RANGE}, ""),
        ({"protocol": "001", **PORT_RANGE}, ""),
        ({"protocol": "006", **PORT_RANGE}, "portRangeMax: must be at least portRangeMin"),
        ({"protocol": "tcp", "portRangeMin": 80, "portRangeMax": 80}, ""),
        ({"protocol": "tcp", "portRangeMin": -1}, "portRangeMin: must be at least 0, not -1"),
        ({"protocol": "tcp", "portRangeMax": 65536}, "portRangeMax: must be at most 65535, not 65536"),
    ],
)
def test_the_ports_of_a_rule_are_a_range(more: dict[str, Any], told: str) -> None:
    found = errors("OpenStackCluster", {GROUPS: [{**RULE, **more}]})
    assert found == ([f"spec.{GROUPS}[0].{told}"] if told else [])


@pytest.mark.parametrize("name", OLDER)
def test_two_spellings_of_one_field_are_rejected(name: str) -> None:
    one = {name: OLDER[name]}
    (new,) = later(one)
    assert errors("OpenStackCluster", one | later(one)) == [f"spec.{new}: set this field or {name}, not both"]


def test_both_spellings_of_a_cluster_mean_the_same() -> None:
    found = [
        OpenStackCluster.parsed(obj("OpenStackCluster", changed(GOOD["OpenStackCluster"], changes)))
        for changes in (OLDER, later(OLDER))
    ]
    assert found[0] == found[1]
    spec, told = found[0]
    assert told == []
    assert spec["managedNetwork"] == {"mtu": 1400, "enablePortSecurity": False}
    assert spec["apiServer"] == {
        "port": 6443, "fixedIP": "10.0.0.5", "floatingIP": "192.0.2.7", "enableFloatingIP": False
    }  # fmt: skip
    assert spec["managedRouter"] == {"externalIPs": [{"subnet": {"id": ID}}]}
    assert spec["enableExternalNetwork"] is True
    assert not spec.keys() & OLDER.keys()


@pytest.mark.parametrize("spell", [lambda mtu: {"networkMTU": mtu}, lambda mtu: {"managedNetwork": {"mtu": mtu}}])
def test_an_mtu_of_zero_is_accepted_and_one_below_the_minimum_of_ip_is_rejected(spell: Any) -> None:
    assert errors("OpenStackCluster", spell(0)) == []
    assert errors("OpenStackCluster", spell(68)) == []
    assert errors("OpenStackCluster", spell(67)) == ["spec.managedNetwork.mtu: must be 0 or at least 68"]


def test_absent_fields_have_the_defaults_of_the_reference() -> None:
    written = GOOD["OpenStackCluster"]
    assert (external(written), floating(written)) == (True, True)
    spec = OpenStackClusterSpec.model_validate(written)
    assert (spec.recreate_policy, spec.credentials_lost_policy) == ("Never", "Wait")


def test_both_spellings_of_rules_for_all_nodes_mean_the_same() -> None:
    for name in ("allNodesSecurityGroupRules", "clusterNodesSecurityGroupRules"):
        groups = ManagedSecurityGroups.model_validate({name: [RULE]})
        written = groups.model_dump(by_alias=True, exclude_none=True)
        assert [rule["name"] for rule in written["clusterNodesSecurityGroupRules"]] == ["ssh"]
        assert "allNodesSecurityGroupRules" not in written


@pytest.mark.parametrize(
    ("written", "meant"),
    [
        ({}, None),
        ({"enablePortSecurity": True}, True),
        ({"enablePortSecurity": False}, False),
        ({"disablePortSecurity": False}, True),
        ({"disablePortSecurity": True}, False),
    ],
)
def test_port_security_has_one_meaning(written: dict[str, Any], meant: bool | None) -> None:
    dumped = PortOpts.model_validate(written).model_dump(by_alias=True, exclude_none=True)
    assert (dumped.get("enablePortSecurity"), "disablePortSecurity" in dumped) == (meant, False)


@pytest.mark.parametrize(
    ("written", "meant"),
    [
        ({"flavor": "m1"}, {"filter": {"name": "m1"}}),
        ({"flavor": "m1", "flavorID": "7"}, {"id": "7"}),
        ({"flavorID": "7"}, {"id": "7"}),
    ],
)
def test_a_flavor_has_one_meaning(written: dict[str, Any], meant: dict[str, Any]) -> None:
    rest = {name: value for name, value in MACHINE.items() if name != "flavor"}
    for spec in ({**rest, **written}, {**rest, "flavor": meant}):
        dumped = OpenStackMachineSpec.model_validate(spec).model_dump(by_alias=True, exclude_none=True)
        assert dumped["flavor"] == flavor_of(spec) == meant
    missing = resolve("a", {**GOOD["OpenStackServer"], **written}, {}, {}).missing
    assert [each.where for each in missing if each.type == "flavor"] == ([] if "id" in meant else [(("name", "m1"),)])


def test_a_spec_with_errors_is_returned_unchanged() -> None:
    wrong = changed(GOOD["OpenStackServer"], {"ports.0.disablePortSecurity": "perhaps"})
    spec, told = OpenStackServer.parsed(obj("OpenStackServer", wrong))
    assert spec == wrong
    assert len(told) == 1
    assert OpenStackServer.parsed({"spec": None})[0] == {}
    assert OpenStackServer.parsed({"spec": 5})[0] == {}


def test_all_errors_of_and_between_fields_are_reported_together() -> None:
    found = errors(
        "OpenStackServer",
        {
            "flavor": None, "image.id": "x", "typo": 1, "rootVolume": {"sizeGiB": 0, "availabilityZone": {}},
            "additionalBlockDevices": [{"name": "root", "sizeGiB": "big", "storage": {}}],
            "ports": [{"enablePortSecurity": True, "disablePortSecurity": True, "securityGroups": [5]}],
            "serverMetadata": [7],
        },
    )  # fmt: skip
    assert sorted(line.split(": ")[0] for line in found) == [
        "spec.additionalBlockDevices", "spec.additionalBlockDevices[0].sizeGiB",
        "spec.additionalBlockDevices[0].storage.type", "spec.flavor", "spec.image.id",
        "spec.ports[0].enablePortSecurity", "spec.ports[0].securityGroups[0]", "spec.rootVolume.availabilityZone.name",
        "spec.rootVolume.sizeGiB", "spec.serverMetadata[0]", "spec.typo",
    ]  # fmt: skip


def test_an_error_names_the_older_spelling_that_was_used() -> None:
    assert errors("OpenStackServer", {"ports.0.disablePortSecurity": "perhaps"})[0].startswith(
        "spec.ports[0].disablePortSecurity: takes true or false"
    )


@pytest.mark.parametrize("value", [None, 5, "x", [], [[]], [None], {"a": None}])
def test_nothing_that_can_be_written_breaks_the_check(value: Any) -> None:
    for kind, good in GOOD.items():
        for name in [*BY_KIND[kind].model_fields["spec"].annotation.model_fields]:
            field = BY_KIND[kind].model_fields["spec"].annotation.model_fields[name].alias
            spec = {**good, field: value}
            assert isinstance(errors_of(obj(kind, spec), obj(kind)), list)
            assert isinstance(errors_of(obj(kind), obj(kind, spec)), list)


@pytest.mark.parametrize("version", ["v1beta1", "v1beta2"])
def test_manifests_of_each_version_are_accepted_and_converted_to_the_stored_one(version: str) -> None:
    document = obj("OpenStackMachine") | {"apiVersion": f"infrastructure.cluster.x-k8s.io/{version}"}
    manifest, told = check(document, "default")
    assert told == []
    assert manifest
    assert manifest.obj["apiVersion"] == "infrastructure.cluster.x-k8s.io/v1beta1"


def test_a_manifest_of_another_version_is_rejected_with_the_known_versions() -> None:
    document = obj("OpenStackCluster") | {"apiVersion": "infrastructure.cluster.x-k8s.io/v1alpha7"}
    (told,) = check(document, "default")[1]
    assert told.endswith("allowed: infrastructure.cluster.x-k8s.io/v1beta1, infrastructure.cluster.x-k8s.io/v1beta2")


@pytest.mark.parametrize(
    ("kind", "field", "item", "most"),
    [
        ("OpenStackServer", "tags", lambda n: f"t{n}", MOST),
        ("OpenStackServer", "securityGroups", lambda n: {"filter": {"name": f"g{n}"}}, MOST),
        ("OpenStackServer", "image", lambda n: f"t{n}", MOST),
        ("OpenStackServer", "serverMetadata", lambda n: {"key": f"k{n}", "value": "v"}, MANY),
        ("OpenStackCluster", "tags", lambda n: f"t{n}", MOST),
        ("OpenStackCluster", "controlPlaneAvailabilityZones", lambda n: f"z{n}", MOST),
        ("OpenStackFloatingIPPool", "preAllocatedFloatingIPs", lambda n: f"10.{n >> 8 & 255}.{n & 255}.1", GIVEN),
    ],
)
def test_the_length_of_lists_is_bounded_and_a_longer_one_is_rejected_fast(
    kind: str, field: str, item: Callable[[int], Any], most: int
) -> None:
    def given(count: int) -> list[str]:
        items = [item(number) for number in range(count)]
        return errors(kind, {field: {"filter": {"tags": items}} if field == "image" else items})

    assert given(most) == []
    began = time.process_time()
    (told,) = given(6_000)
    assert time.process_time() - began < 2, "seconds; it was a minute"
    assert told.endswith(f"must have at most {most} entries"), told


def test_very_many_errors_are_found_fast_and_not_all_reported() -> None:
    """The API server keeps unknown fields of `flavor`."""
    began = time.process_time()
    told = errors("OpenStackMachine", {"flavor": {"id": "f", **{f"x{number}": 1 for number in range(60_000)}}})
    assert len(told) <= ERRORS + 1
    assert time.process_time() - began < 2, "seconds"


def test_duplicates_in_a_list_are_found_fast() -> None:
    texts, began = TypeAdapter(Annotated[list[str], Keyed()]), time.process_time()
    texts.validate_python([str(n) for n in range(60_000)])
    with pytest.raises(ValidationError, match="duplicate entry: 7"):
        texts.validate_python(["7", *(str(n) for n in range(60_000))])
    assert time.process_time() - began < 2, "seconds; it was a minute"


def test_a_cluster_identity_is_in_no_namespace() -> None:
    document = obj("OpenStackClusterIdentity") | {"metadata": {"name": "shared"}}
    manifest, told = check(document, "default")
    assert (told, manifest and manifest.obj["metadata"]) == ([], {"name": "shared"})


@pytest.mark.parametrize(
    ("selector", "matches"),
    [
        ({}, True),
        ({"matchLabels": {"team": "a"}}, True),
        ({"matchLabels": {"team": "b"}}, False),
        ({"matchExpressions": [{"key": "team", "operator": "In", "values": ["a", "b"]}]}, True),
        ({"matchExpressions": [{"key": "team", "operator": "NotIn", "values": ["a"]}]}, False),
        ({"matchExpressions": [{"key": "other", "operator": "NotIn", "values": ["a"]}]}, True),
        ({"matchExpressions": [{"key": "team", "operator": "Exists"}]}, True),
        ({"matchExpressions": [{"key": "team", "operator": "DoesNotExist"}]}, False),
    ],
)
def test_a_selector_chooses_as_kubernetes_does(selector: dict[str, Any], matches: bool) -> None:
    assert LabelSelector.model_validate(selector).matches({"team": "a"}) is matches


@pytest.mark.parametrize(
    ("python", "wire"),
    [
        ("ssh_key_name", "sshKeyName"), ("size_gib", "sizeGiB"), ("ipv6_ra_mode", "ipv6RAMode"), ("id", "id"),
        ("disable_api_server_floating_ip", "disableAPIServerFloatingIP"), ("network_mtu", "networkMTU"),
        ("floating_ip_pool_ref", "floatingIPPoolRef"), ("pre_allocated_floating_ips", "preAllocatedFloatingIPs"),
        ("ovs_hw_offload", "ovsHWOffload"), ("trusted_vf", "trustedVF"), ("cidr", "cidr"), ("host_id", "hostID"),
    ],
)  # fmt: skip
def test_names_on_the_wire_are_those_of_the_reference(python: str, wire: str) -> None:
    assert wire_name(python) == wire
