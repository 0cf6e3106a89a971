"""Agents of nodes that left the cloud: which are forgotten, when, and what they are kept for."""

from __future__ import annotations

import json
from collections.abc import Iterable, Mapping
from dataclasses import replace
from typing import Any

import pytest

from stackwright.api.services.kinds import ServiceSpec
from stackwright.controllers.service.agents import LASTING, LOOK, RARELY, without_left_agents
from stackwright.controllers.service.observe import Observed
from stackwright.core.conditions import done, waiting
from stackwright.core.objects import DIGEST
from stackwright.core.openstack.deployed.agents import REPORTS
from stackwright.core.openstack.deployed.inventory import SHARE
from stackwright.core.plan import DeleteAgents, Object, Plan
from stackwright.core.settings import Settings
from stackwright.services import keystone, neutron, nova
from stackwright.services.context import COMPUTE, GATEWAY, OPENVSWITCH, Context, NodeRef
from stackwright.services.declaration import Service
from stackwright.services.registry import SERVICES
from tests.unit.controllers.builders import NAMESPACE, condition, obj

RELEASED = Plan(conditions=(done("Ready"), done("Release")))
COMPUTE_1, COMPUTE_2 = BOTH = ["nova-compute@node1", "nova-compute@node2"]
Label = tuple[str, str]


def seen(
    declared: Service = nova.SERVICE,
    *,
    known: Iterable[str] = BOTH,
    nodes: Mapping[Label, list[str]] | None = None,
    pods: Mapping[str, list[str]] | None = None,
    now: float = 1000.0,
    **settings: str,
) -> Observed:
    """known  recorded agents;  nodes  label → nodes;  pods  component → nodes of its pods"""
    named = nodes if nodes is not None else {COMPUTE: ["node1"]}
    refs = {"=".join(label): tuple(NodeRef(name, "") for name in names) for label, names in named.items()}
    found: list[Object] = [
        {"metadata": {"name": name, "labels": {"component": component}}, "spec": {"nodeName": name}}
        for component, names in (pods or {}).items()
        for name in names
    ]
    pending: Object = {"metadata": {"name": "pending", "labels": {"component": "compute"}}, "spec": {}}
    parsed = declared.settings.model_validate(settings)
    context = Context(declared.name, NAMESPACE, ServiceSpec(), {}, parsed, nodes=refs, pods=(*found, pending))
    thing = {**obj(declared.kind, declared.name), "status": {"agents": list(known)}}
    return Observed(declared, Settings({}, {}), thing, now, context=context)


def tried(before: Observed, held: Mapping[str, list[str]], plan: Plan = RELEASED) -> Observed:
    """The same after an attempt with this result."""
    (attempt,) = without_left_agents(before, plan).actions
    assert isinstance(attempt, DeleteAgents)
    meta = {"annotations": {DIGEST: str(int(before.now))}}
    return replace(before, inventory={"metadata": meta, "data": {"held.json": json.dumps(held)}})


def test_nodes_with_the_label_of_an_agent_are_recorded() -> None:
    """Overrides may place pods on other nodes, where a pod that restarts would look like one that left."""
    there = seen(known=(), nodes={COMPUTE: ["node2", "node1"]}, pods={"compute": ["node1", "node3"]})
    plan = without_left_agents(there, RELEASED)
    assert plan.status == {"agents": BOTH}
    assert plan.empty and plan.conditions == RELEASED.conditions and plan.requeue is None


def test_an_agent_that_is_down_and_unused_is_forgotten() -> None:
    start = seen()
    first = without_left_agents(start, RELEASED)
    (attempt,) = first.actions
    assert isinstance(attempt, DeleteAgents)
    assert str(attempt) == "delete if unused nova-compute on node2 in compute"
    assert attempt.agents == attempt.look.holders == (COMPUTE_2,)
    assert attempt.look.key == (NAMESPACE, "nova-inventory")
    assert first.status["agents"] == BOTH
    assert condition(first, "Agents").message == (
        "nova-compute on node2 will be forgotten, because their nodes left the cloud: checking what uses them"
    )
    assert condition(first).status is True and first.requeue == LOOK
    second = without_left_agents(tried(start, {COMPUTE_2: []}), RELEASED)
    assert second == replace(RELEASED, status={"agents": [COMPUTE_1]})


def test_a_used_agent_is_kept_and_checked_again() -> None:
    start = seen()
    then = tried(start, {COMPUTE_2: ["server web", "server db and 2 more"]})
    plan = without_left_agents(then, RELEASED)
    assert plan.empty and plan.status["agents"] == BOTH
    entry = condition(plan, "Agents")
    assert (entry.status, entry.reason) == (False, "AgentsLeft")
    assert entry.message == (
        "Kept although their nodes left the cloud: nova-compute on node2: "
        "server web, server db and 2 more. Each is forgotten when nothing uses it"
    )
    assert str(entry.waits_for) == "nova-compute on node2 to be unused"
    soon = without_left_agents(replace(then, now=then.now + LASTING - 1), RELEASED)
    assert soon.empty and (plan.requeue, soon.requeue) == (LASTING, 1)
    later = without_left_agents(replace(then, now=then.now + LASTING), RELEASED)
    assert [type(each) for each in later.actions] == [DeleteAgents]
    assert condition(later, "Agents") == entry, "the condition does not change while the agents are checked"
    reports = tried(start, {COMPUTE_2: [REPORTS, "server web"]})
    soon = without_left_agents(reports, RELEASED)
    assert soon.requeue == LOOK, "it will not report for long"
    assert "nova-compute on node2: it still reports, server web." in condition(soon, "Agents").message


def test_a_result_that_lacks_an_agent_or_is_of_others_forgets_nothing() -> None:
    plan = without_left_agents(tried(seen(), {}), RELEASED)
    assert len(plan.actions) == 1 and plan.status["agents"] == BOTH
    three = replace(seen(known=[*BOTH, "nova-compute@node3"]), inventory=tried(seen(), {COMPUTE_2: []}).inventory)
    plan = without_left_agents(three, RELEASED)
    (attempt,) = plan.actions
    assert isinstance(attempt, DeleteAgents) and attempt.agents == ("nova-compute@node3",)
    assert plan.status["agents"] == [COMPUTE_1, "nova-compute@node3"]
    for now in (1000.0 + LASTING, 999.0):  # the latter by a clock that was ahead
        plan = without_left_agents(replace(tried(seen(), {COMPUTE_2: []}), now=now), RELEASED)
        assert len(plan.actions) == 1 and plan.status["agents"] == BOTH


def test_a_result_is_dropped_when_a_node_of_it_is_back() -> None:
    """The node may leave again before the result is out of date."""
    left = tried(seen(known=[*BOTH, "nova-compute@node3"]), {COMPUTE_2: [], "nova-compute@node3": ["server web"]})
    everywhere = seen(nodes={COMPUTE: ["node1", "node2", "node3"]}).context
    for plan in RELEASED, Plan():
        (action,) = without_left_agents(replace(left, context=everywhere), plan).actions
        assert isinstance(action, DeleteAgents) and action.agents == ()
        assert str(action) == "delete if unused no agent in compute"
    partly = without_left_agents(replace(left, context=seen(nodes={COMPUTE: ["node1", "node2"]}).context), RELEASED)
    (action,) = partly.actions
    assert isinstance(action, DeleteAgents) and action.agents == ("nova-compute@node3",)
    assert "nova-compute on node3: server web" in condition(partly, "Agents").message
    dropped = replace(left, inventory={"metadata": {"annotations": {DIGEST: "1000"}}, "data": {"held.json": "{}"}})
    assert without_left_agents(replace(dropped, context=everywhere), RELEASED).empty
    (action,) = without_left_agents(dropped, RELEASED).actions
    assert isinstance(action, DeleteAgents) and action.agents == (COMPUTE_2, "nova-compute@node3")


def test_what_is_kept_for_long_is_checked_rarely() -> None:
    """Each attempt writes its result."""
    then = tried(seen(now=10_000.0), {COMPUTE_2: ["server web"]})
    for same, period in (0, LASTING), (SHARE * 200, 200), (9_999, RARELY), (-100, LASTING):
        data = {**(then.inventory or {})["data"], "since": str(10_000 - same)}
        plan = without_left_agents(replace(then, inventory={**(then.inventory or {}), "data": data}), RELEASED)
        assert plan.empty and plan.requeue == period
    for same, period in (0, LOOK), (SHARE * 100, 100), (9_999, RARELY):  # a host outside the cluster may have the name
        reports = {"held.json": json.dumps({COMPUTE_2: [REPORTS]}), "since": str(10_000 - same)}
        plan = without_left_agents(replace(then, inventory={**(then.inventory or {}), "data": reports}), RELEASED)
        assert plan.requeue == period


@pytest.mark.parametrize(
    "text", ["", "no JSON", "[]", '{"nova-compute@node2": "x"}', '{"nova-compute@node2": [1]}', "[" * 9999]
)
def test_a_result_that_somebody_edited_is_none(text: str) -> None:
    inventory = {**(tried(seen(), {}).inventory or {}), "data": {"held.json": text, "since": "soon"}}
    plan = without_left_agents(replace(seen(), inventory=inventory), RELEASED)
    assert len(plan.actions) == 1 and plan.status["agents"] == BOTH


def test_a_condition_names_a_limited_number_of_agents() -> None:
    names = [f"nova-compute@node{number}" for number in range(100, 400)]
    start = seen(known=names)
    plan = without_left_agents(start, RELEASED)
    assert "and 295 more will be forgotten" in condition(plan, "Agents").message
    plan = without_left_agents(tried(start, {name: ["server web"] for name in names}), RELEASED)
    entry = condition(plan, "Agents")
    assert "nova-compute on node104: server web and 295 more. Each" in entry.message
    assert str(entry.waits_for).endswith("nova-compute on node104 and 295 more to be unused")
    later = without_left_agents(replace(tried(start, {}), now=1000.0 + LASTING), RELEASED)
    assert all(len(str(action)) < 300 for action in later.actions)


@pytest.mark.parametrize("stages", [(waiting("Release", "Updating"),), ()])
def test_nothing_is_forgotten_before_the_release_is_ready(stages: tuple[Any, ...]) -> None:
    """The Job that registers the nodes of Nova runs again only if the release without the node was installed."""
    plan = without_left_agents(seen(), Plan(conditions=stages))
    assert plan.empty and "the release is not ready" in condition(plan, "Agents").message
    assert plan.status["agents"] == BOTH


def test_an_agent_with_a_label_or_a_pod_is_not_looked_at() -> None:
    """A node that is not ready has its label, and its pods are deleted only when it is back or deleted, too."""
    assert without_left_agents(seen(nodes={COMPUTE: ["node1", "node2"]}), RELEASED).empty
    with_pod = without_left_agents(seen(pods={"compute": ["node2"]}), RELEASED)
    assert with_pod.empty and with_pod.status["agents"] == BOTH
    two = seen(known=[*BOTH, "nova-compute@node3"], pods={"compute": ["node2"]})
    (attempt,) = without_left_agents(two, RELEASED).actions
    assert isinstance(attempt, DeleteAgents) and attempt.agents == ("nova-compute@node3",)
    assert attempt.look.holders == (COMPUTE_2, "nova-compute@node3"), "all that leave, which get no routers"
    assert not without_left_agents(seen(pods={"conductor": ["node2"]}), RELEASED).empty


def test_hosts_that_were_never_nodes_are_not_looked_at() -> None:
    assert without_left_agents(seen(known=[COMPUTE_1]), RELEASED).empty


def test_without_a_valid_spec_the_record_stays() -> None:
    plan = without_left_agents(replace(seen(), context=None), Plan(status={"state": "WAITING"}))
    assert plan == Plan(status={"state": "WAITING", "agents": BOTH})


def test_a_node_that_loses_one_role_keeps_its_other_agents() -> None:
    gateway = ("neutron-dhcp-agent", "neutron-l3-agent", "neutron-metadata-agent")
    hosts = ("node1", "node2")
    both = [f"{binary}@{host}" for binary in ("neutron-openvswitch-agent", *gateway) for host in hosts]
    start = seen(neutron.SERVICE, known=both, nodes={OPENVSWITCH: ["node1", "node2"], GATEWAY: ["node1"]})
    held = {**{f"{binary}@node2": [] for binary in gateway}, "neutron-l3-agent@node2": ["router r"]}
    plan = without_left_agents(tried(start, held), RELEASED)
    assert plan.empty
    forgotten = {"neutron-dhcp-agent@node2", "neutron-metadata-agent@node2"}
    assert plan.status["agents"] == sorted(set(both) - forgotten)


def test_with_ovn_the_chassis_of_a_node_is_forgotten() -> None:
    """A cloud without OVN does not record it, and one that changed to OVN keeps the agents that it had."""
    nodes = {OPENVSWITCH: ["gateway", "compute"], GATEWAY: ["gateway"], COMPUTE: ["compute"]}
    there, gone = ["ovn-controller@compute", "ovn-controller@gateway"], "ovn-controller@gone"
    start = seen(neutron.SERVICE, known=[*there, gone, "neutron-l3-agent@gateway"], nodes=nodes, backend="ml2/ovn")
    (attempt,) = without_left_agents(start, RELEASED).actions
    assert isinstance(attempt, DeleteAgents)
    assert attempt.agents == (gone,)
    plan = without_left_agents(tried(start, {gone: []}), RELEASED)
    assert plan.status["agents"] == ["neutron-l3-agent@gateway", *there]
    fresh = without_left_agents(seen(neutron.SERVICE, known=(), nodes=nodes, backend="ml2/ovn"), RELEASED)
    assert fresh.status == {"agents": there}
    other = without_left_agents(seen(neutron.SERVICE, known=(), nodes=nodes), RELEASED).status["agents"]
    assert [name for name in other if "ovn" in name] == []


def test_a_service_without_agents_is_left_alone() -> None:
    plan = Plan(status={"state": "APPLIED"})
    assert without_left_agents(seen(keystone.SERVICE), plan) is plan


def test_the_components_of_declared_agents_are_daemonsets() -> None:
    for declared in SERVICES:
        every = {component for chart in declared.charts for component in chart.daemonsets}
        assert {agent.component for agent in declared.agents} <= every
