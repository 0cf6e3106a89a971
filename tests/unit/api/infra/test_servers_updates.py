"""What an update of a server, a machine, a template or a cluster may change, and how the rest is refused."""

from __future__ import annotations

import copy
from typing import Any

import pytest

from stackwright.admission.validate import TOPOLOGY, errors_of
from stackwright.api.rules import FIXED
from stackwright.cloud.immutability import update_errors
from support.infra_specs import FIXED_IN_CLUSTER, FIXED_IN_SERVER, ID, IDENTITY, MACHINE, OLDER, OTHER, RULE
from support.server_objects import GOOD, changed, later, obj

REGION = "spec.identityRef.region: cannot change, be added or be removed; create another object"
NODE = {"template": {"spec": {**MACHINE, "ports": [{"tags": ["a"]}]}}}
FOUND = {"network": {"id": ID, "name": "n", "subnets": [{"id": OTHER, "name": "s", "cidr": "10.0.0.0/24"}]},
         "apiServerFloatingIP": {"id": "f", "address": "192.0.2.9"}}  # fmt: skip
SUBNET = {"cidr": "10.0.0.0/24", "dnsNameservers": ["192.0.2.53"]}
ONCE = "cannot change; it can be set once, while the API has no floating IP"
BASTION = {"spec": MACHINE, "enabled": True}
UPDATES: list[tuple[str, dict[str, Any], dict[str, Any], list[str]]] = [
    ("OpenStackServer", {}, {"identityRef": {"name": "new", "cloudName": "other", "type": "ClusterIdentity"}}, []),
    ("OpenStackServer", {}, {"recreatePolicy": "Always", "credentialsLostPolicy": "Orphan"}, []),
    ("OpenStackServer", {}, {"tags": [], "securityGroups": []}, []),
    (
        "OpenStackServer",
        {},
        {"identityRef.region": "two"},
        [REGION],
    ),
    *(("OpenStackServer", {}, {name: value}, [f"spec.{name}: {FIXED}"]) for name, value in FIXED_IN_SERVER.items()),
    ("OpenStackServer", {}, {"ports.0.allowedAddressPairs": [{"ipAddress": "10.0.0.1"}]}, [f"spec.ports: {FIXED}"]),
    ("OpenStackServer", {"ports.0.disablePortSecurity": True}, {"ports.0.enablePortSecurity": False}, []),
    ("OpenStackServer", {"ports.0.disablePortSecurity": True}, {}, [f"spec.ports: {FIXED}"]),
    (
        "OpenStackServer",
        {},
        {"image": {"id": OTHER}, "flavor": "m2", "identityRef.region": "two"},
        [f"spec.image: {FIXED}", f"spec.flavor: {FIXED}", REGION],
    ),
    ("OpenStackMachine", {}, {"providerID": "a", "instanceID": "b", "identityRef": IDENTITY}, []),
    ("OpenStackMachine", {}, {"recreatePolicy": "Always", "credentialsLostPolicy": "Detach"}, []),
    ("OpenStackMachine", {"ports": [{}]}, {"ports": [{"allowedAddressPairs": [{"ipAddress": "10.0.0.1"}]}]}, []),
    ("OpenStackMachine", {"ports": [{}]}, {"ports": [{"tags": ["a"]}]}, [f"spec.ports: {FIXED}"]),
    ("OpenStackMachine", {"ports": [{}]}, {"ports": [{}, {}]}, [f"spec.ports: {FIXED}"]),
    ("OpenStackMachine", {}, {"flavor": {"filter": {"name": "m1.small"}}}, []),
    ("OpenStackMachine", {}, {"flavor": {"id": "m1.small"}}, [f"spec.flavor: {FIXED}"]),
    ("OpenStackMachine", {}, {"flavorID": "7"}, [f"spec.flavor: {FIXED}"]),
    ("OpenStackMachine", {"flavor": None, "flavorID": "7"}, {"flavor": {"id": "7"}}, []),
    ("OpenStackMachine", {}, {"image": {"id": OTHER}}, [f"spec.image: {FIXED}"]),
    ("OpenStackCluster", {}, {"identityRef": {"name": "new", "cloudName": "x"}}, []),
    ("OpenStackCluster", {}, {"controlPlaneEndpoint": {"host": "a", "port": 6443}}, []),
    ("OpenStackCluster", {"controlPlaneEndpoint": {"host": ""}}, {"controlPlaneEndpoint": {"host": "a"}}, []),
    *(
        (
            "OpenStackCluster",
            {"controlPlaneEndpoint": {"host": "a"}},
            change,
            ["spec.controlPlaneEndpoint: cannot change once it has a host"],
        )
        for change in ({}, {"controlPlaneEndpoint": {"host": "b"}})
    ),
    ("OpenStackCluster", OLDER, later(OLDER), []),
    ("OpenStackCluster", {}, {"controlPlaneAvailabilityZones": ["z"], "controlPlaneOmitAvailabilityZone": True}, []),
    ("OpenStackCluster", {}, {"primarySubnet": {"id": ID}, "recreatePolicy": "Always"}, []),
    ("OpenStackCluster", {"bastion": BASTION}, {"bastion": {"enabled": False}}, []),
    ("OpenStackCluster", {"bastion": {"enabled": False}}, {}, []),
    (
        "OpenStackCluster",
        {"bastion": BASTION},
        {},
        ["spec.bastion: cannot be removed while it is enabled; set bastion.enabled to false first"],
    ),
    ("OpenStackCluster", {"bastion": BASTION}, {"bastion": {**BASTION, "spec": {**MACHINE, "flavor": "m2"}}}, []),
    (
        "OpenStackCluster",
        {"bastion": {**BASTION, "spec": {**MACHINE, "identityRef": IDENTITY}}},
        {"bastion": {**BASTION, "spec": {**MACHINE, "identityRef": {**IDENTITY, "region": "two"}}}},
        [REGION.replace("spec.", "spec.bastion.spec.", 1)],
    ),
    ("OpenStackCluster", {}, {"managedSecurityGroups": {"allowAllInClusterTraffic": True}}, []),
    (
        "OpenStackCluster",
        {"managedSecurityGroups": {}},
        {"managedSecurityGroups.workerNodesSecurityGroupRules": [RULE]},
        [],
    ),
    ("OpenStackCluster", {"managedSecurityGroups": {}}, {}, ["spec.managedSecurityGroups: cannot be removed"]),
    ("OpenStackCluster", {"managedSubnets": [SUBNET]}, {"managedSubnets": [{**SUBNET, "dnsNameservers": []}]}, []),
    *(
        (
            "OpenStackCluster",
            {"managedSubnets": [SUBNET]},
            {"managedSubnets": subnets},
            ["spec.managedSubnets: cannot change, except dnsNameservers; create another object"],
        )
        for subnets in ([], [{"cidr": "10.1.0.0/24"}], [{**SUBNET, "allocationPools": [{"start": "a", "end": "b"}]}])
    ),
    *(("OpenStackCluster", {}, {name: value}, [f"spec.{told}: {FIXED}"]) for name, value, told in FIXED_IN_CLUSTER),
    ("OpenStackCluster", {}, {"networkMTU": 0}, []),
    ("OpenStackCluster", {"managedNetwork": {"mtu": 0}}, {"networkMTU": 0}, []),
    (
        "OpenStackCluster",
        {"disableAPIServerFloatingIP": True},
        {"disableAPIServerFloatingIP": True, "disableExternalNetwork": True},
        [f"spec.enableExternalNetwork: {FIXED}"],
    ),
    *(
        ("OpenStackCluster", old, {**old, **new}, told)
        for name, older, value in (("port", "apiServerPort", 7443), ("fixedIP", "apiServerFixedIP", "10.0.0.9"))
        for old, new, told in (
            ({}, {older: value}, [f"spec.apiServer.{name}: {ONCE}"]),
            ({"disableAPIServerFloatingIP": True}, {older: value}, []),
            (
                {"disableAPIServerFloatingIP": True, older: OLDER[older]},
                {older: value},
                [f"spec.apiServer.{name}: {ONCE}"],
            ),
        )
    ),
    ("OpenStackCluster", {"network": {"filter": {"name": "n"}}}, {"network": {"id": ID}}, []),
    (
        "OpenStackCluster",
        {"network": {"filter": {"name": "n"}}},
        {"network": {"id": OTHER}},
        [f"spec.network: {FIXED}. It may become the id in status.network"],
    ),
    (
        "OpenStackCluster",
        {},
        {"network": {"id": ID}},
        [f"spec.network: {FIXED}. It may become the id in status.network"],
    ),
    ("OpenStackCluster", {"subnets": [{"filter": {"name": "s"}}]}, {"subnets": [{"id": OTHER}]}, []),
    (
        "OpenStackCluster",
        {"subnets": [{"filter": {"name": "s"}}]},
        {"subnets": [{"id": ID}]},
        [f"spec.subnets: {FIXED}. They may become the ids in status.network.subnets"],
    ),
    ("OpenStackCluster", {}, {"apiServerFloatingIP": "192.0.2.9"}, []),
    ("OpenStackCluster", {"apiServerFloatingIP": "192.0.2.1"}, {"apiServer.floatingIP": "192.0.2.9"}, []),
    (
        "OpenStackCluster",
        {},
        {"apiServerFloatingIP": "192.0.2.1"},
        ["spec.apiServer.floatingIP: cannot change, except to the address in status.apiServerFloatingIP"],
    ),
]


@pytest.mark.parametrize(("kind", "before", "after", "told"), UPDATES)
def test_fields_that_an_update_may_change(
    kind: str, before: dict[str, Any], after: dict[str, Any], told: list[str]
) -> None:
    old = obj(kind, changed(GOOD[kind], before), status=FOUND if kind == "OpenStackCluster" else {})
    # Values of the update count for the objects in `before`; values that it lacks are removed.
    new = obj(kind, changed(GOOD[kind], after))
    assert sorted(update_errors(old, new)) == sorted(told)
    assert update_errors(old, copy.deepcopy(old)) == []


@pytest.mark.parametrize("field", ["image", "flavor", "identityRef", "recreatePolicy", "instanceID"])
def test_a_template_is_immutable(field: str) -> None:
    value = {"image": {"id": OTHER}, "identityRef": IDENTITY}.get(field, "Always" if "Policy" in field else "other")
    new = changed(NODE, {f"template.spec.{field}": value})
    old = obj("OpenStackMachineTemplate", NODE)
    told = [f"spec.template.spec.{field}: cannot change; create another template"]
    assert errors_of(obj("OpenStackMachineTemplate", new), old) == told
    pairs = {"template.spec.ports.0.allowedAddressPairs": [{"ipAddress": "10.0.0.1"}]}
    assert errors_of(obj("OpenStackMachineTemplate", changed(NODE, pairs)), old) == []


def test_the_topology_controller_may_ask_whether_it_needs_another_template() -> None:
    old = obj("OpenStackMachineTemplate", NODE)
    new = obj("OpenStackMachineTemplate", changed(NODE, {"template.spec.image": {"id": OTHER}}))
    new["metadata"] = {**new["metadata"], "annotations": {TOPOLOGY: ""}}
    assert errors_of(new, old, dry_run=True) == []
    assert len(errors_of(new, old)) == 1
    assert len(errors_of(obj("OpenStackMachineTemplate", new["spec"]), old, dry_run=True)) == 1


@pytest.mark.parametrize(
    ("kind", "path", "told"),
    [
        ("OpenStackMachineTemplate", "identityRef", "spec.template.spec.identityRef"),
        ("OpenStackClusterTemplate", "identityRef", "spec.template"),
        ("OpenStackClusterTemplate", "bastion.spec.identityRef", "spec.template"),
    ],
)
def test_a_region_in_a_template_has_no_rule_of_its_own(kind: str, path: str, told: str) -> None:
    spec = changed(GOOD[kind], {"template.spec.bastion": BASTION} if path.startswith("bastion") else {})
    old, new = (
        obj(kind, changed(spec, {f"template.spec.{path}": {**IDENTITY, "region": region}})) for region in ("a", "b")
    )
    assert errors_of(new, old) == [f"{told}: cannot change; create another template"]
    new["metadata"] = {**new["metadata"], "annotations": {TOPOLOGY: ""}}
    assert errors_of(new, old, dry_run=True) == []


def test_invalid_and_immutable_fields_are_reported_together() -> None:
    new = obj("OpenStackServer", changed(GOOD["OpenStackServer"], {"image.id": "x", "trunk": True}))
    assert errors_of(new, obj("OpenStackServer")) == [
        "spec.image.id: must be a UUID, not 'x'", f"spec.image: {FIXED}", f"spec.trunk: {FIXED}"
    ]  # fmt: skip


def test_other_kinds_have_no_such_rules() -> None:
    assert update_errors({"kind": "Pod", "spec": {"a": 1}}, {"kind": "Pod", "spec": {"a": 2}}) == []
    pool = obj("OpenStackFloatingIPPool", {"identityRef": IDENTITY, "maxIPs": 5})
    assert update_errors(obj("OpenStackFloatingIPPool"), pool) == []


def test_a_template_of_clusters_is_immutable_except_for_the_topology_controllers_dry_run() -> None:
    old = obj("OpenStackClusterTemplate")
    for field, value in (("tags", ["a"]), ("identityRef", {"name": "other", "cloudName": "openstack"})):
        new = obj(
            "OpenStackClusterTemplate", changed(GOOD["OpenStackClusterTemplate"], {f"template.spec.{field}": value})
        )
        assert errors_of(new, old) == ["spec.template: cannot change; create another template"]
        new["metadata"] = {**new["metadata"], "annotations": {TOPOLOGY: ""}}
        assert errors_of(new, old, dry_run=True) == []
    assert errors_of(old, old) == []
    wrong = obj("OpenStackClusterTemplate", {"template": {"spec": {"identityRef": IDENTITY, "managedRouter": {}}}})
    assert errors_of(wrong) == ["spec.template.spec.managedRouter.externalIPs: is required"]
