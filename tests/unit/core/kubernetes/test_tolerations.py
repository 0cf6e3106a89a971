"""Taints of nodes, and the tolerations that values give."""

import pytest

from stackwright.core.kubernetes import precache
from stackwright.core.kubernetes.tolerations import is_tolerated, of_values


def values(*tolerations, enabled=True):
    return {"pod": {"tolerations": {"nova": {"enabled": enabled, "tolerations": [*tolerations]}}}}


GOOD = [
    {"operator": "Exists"},
    {"key": "a", "operator": "Exists", "effect": "NoExecute"},
    {"key": "example.org/a", "value": "b", "effect": "NoSchedule"},
    {"key": "node-role.kubernetes.io/control-plane", "operator": "Equal"},
]
BAD = [
    {},
    {"key": "a", "operator": "Gt", "value": "1"},
    {"key": "a", "operator": "Exists", "value": "b"},
    {"key": "a", "effect": "Never"},
    {"key": "no such/ key", "operator": "Exists"},
    {"key": "a", "value": "b c"},
    {"key": "a" * 64, "operator": "Exists"},
    {"key": 5, "operator": "Exists"},
    "a",
    None,
]


def test_tolerations_of_values_are_unchanged_except_invalid_ones():
    assert of_values(values(*GOOD, *BAD)) == GOOD
    given = {"key": "a", "operator": "Exists", "effect": "NoExecute", "tolerationSeconds": 5, "value": None}
    assert of_values(values(given)) == [GOOD[1]]


@pytest.mark.parametrize(
    "odd",
    [
        {},
        {"pod": None},
        {"pod": {"tolerations": []}},
        {"pod": {"tolerations": {"nova": None}}},
        {"pod": {"tolerations": {"nova": {"enabled": True}}}},
        {"pod": {"tolerations": {"nova": {"enabled": True, "tolerations": "x"}}}},
        values(GOOD[0], enabled=False),
        values(GOOD[0], enabled="yes"),
    ],
)
def test_values_of_any_type_have_no_tolerations(odd):
    assert of_values(odd) == []


def node(*taints):
    return {"metadata": {"name": "n"}, "spec": {"taints": [*taints]}}


MAINTENANCE = {"key": "maintenance", "effect": "NoSchedule"}


@pytest.mark.parametrize(
    ("taints", "tolerations", "expected"),
    [
        ([], [], True),
        ([MAINTENANCE], [], False),
        ([MAINTENANCE], [{"operator": "Exists"}], True),
        ([MAINTENANCE], [{"key": "maintenance", "operator": "Exists"}], True),
        ([MAINTENANCE], [{"key": "maintenance"}], True),
        ([MAINTENANCE], [{"key": "maintenance", "value": "b"}], False),
        ([{**MAINTENANCE, "value": "b"}], [{"key": "maintenance", "operator": "Equal", "value": "b"}], True),
        ([{**MAINTENANCE, "value": "b"}], [{"key": "maintenance"}], False),
        ([MAINTENANCE], [{"key": "maintenance", "operator": "Exists", "effect": "NoExecute"}], False),
        ([MAINTENANCE, {"key": "a", "effect": "NoExecute"}], [{"key": "maintenance", "operator": "Exists"}], False),
        ([{"key": "a", "effect": "PreferNoSchedule"}], [], True),
        ([{"key": "node.kubernetes.io/unschedulable", "effect": "NoSchedule"}], [], True),
        ([{"key": "node.kubernetes.io/out-of-service", "effect": "NoExecute"}], [], False),
    ],
)
def test_a_node_is_tolerated_if_each_of_its_effective_taints_is(taints, tolerations, expected):
    assert is_tolerated(node(*taints), tolerations) is expected


CLOUD = {
    "apiVersion": "x",
    "kind": "OpenStackDeployment",
    "metadata": {"name": "c", "namespace": "n", "uid": "u"},
}


def holder(*tolerations):
    made = precache.daemonset(CLOUD, ["a"], "pause", tolerations)
    made["metadata"]["generation"] = 1
    made["status"] = {"observedGeneration": 1, "updatedNumberScheduled": 1, "numberReady": 1}
    return made


def test_only_nodes_with_tolerated_taints_are_awaited():
    up = {"conditions": [{"type": "Ready", "status": "True"}]}
    nodes = [{**node(), "status": up}, {**node(MAINTENANCE), "status": up}]
    for each in nodes:
        each["metadata"]["labels"] = {"openvswitch": "enabled"}
    tolerates = {"key": "maintenance", "operator": "Exists"}
    assert precache.lacking(holder(), nodes, ["a"]) == ""
    assert "images on 1 of 2 nodes" in precache.lacking(holder(tolerates), nodes, ["a"], [tolerates])
    told = precache.lacking(holder(), nodes, ["a"], [tolerates])
    assert told == "DaemonSet image-precaching to tolerate maintenance"


def test_the_daemonset_has_each_requested_toleration_once():
    spec = holder(*GOOD, *reversed(GOOD))["spec"]["template"]["spec"]
    assert len(spec["tolerations"]) == len(GOOD)
    assert holder(*GOOD) == holder(*reversed(GOOD))
    assert "tolerations" not in holder()["spec"]["template"]["spec"]


def test_an_empty_field_is_as_absent_as_api_servers_store_it():
    given = [
        {"key": "dedicated", "operator": "Exists", "value": "", "effect": "NoSchedule"},
        {"key": "dedicated", "operator": "", "value": "", "effect": ""},
        {"key": "", "operator": "Exists", "value": "", "effect": ""},
    ]
    found = of_values({"pod": {"tolerations": {"nova": {"enabled": True, "tolerations": given}}}})
    assert found == [
        {"key": "dedicated", "operator": "Exists", "effect": "NoSchedule"},
        {"key": "dedicated"},
        {"operator": "Exists"},
    ]
