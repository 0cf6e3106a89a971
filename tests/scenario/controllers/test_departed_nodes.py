"""Nodes that are removed from a cloud permanently: their agents are deleted, once they are unused."""

from __future__ import annotations

from typing import Any

import pytest

from stackwright.api.kinds import CONFIGMAP, DEPLOYMENT, NODE, POD
from stackwright.cli.ui.steps import lines
from stackwright.cloud.deployment import OpenStackDeployment
from stackwright.controllers.service.agents import RARELY
from stackwright.core.conditions import find
from stackwright.core.errors import TransientError
from stackwright.core.pausing import STACKWRIGHT
from stackwright.core.plan import Object
from stackwright.forecast.plan import forecast
from stackwright.forecast.simulate import Outside, Request
from stackwright.runtime.memory import MemoryContents
from stackwright.services.neutron.kind import Neutron
from stackwright.services.nova.kind import Nova
from support.faults import Crash, Fuse
from sweep import Part, parts, sampled
from tests.scenario.world import EVERY_ROLE, NAME, NAMESPACE, SETTINGS, World, ready_world

pytestmark = pytest.mark.looptime
COMPUTE = "nova-compute@node-2"
NETWORK = tuple(f"neutron-{each}-agent@node-2" for each in ("dhcp", "l3", "metadata", "openvswitch"))
EVERY = {COMPUTE, *NETWORK}


async def world_of_two() -> World:
    """A full cloud on two nodes."""
    world = await ready_world(whole=True)
    world.node("node-2", EVERY_ROLE)
    await world.settle()
    assert world.ready(), world.condition()
    return world


def leave(world: World, name: str = "node-2") -> None:
    world.cluster.remove(NODE, ("", name))


def the(world: World, kind: Any, name: str) -> Object:
    found = world.get(kind, name)
    assert found is not None
    return found


def known(world: World) -> set[str]:
    """Recorded agents of node-2."""
    objects = the(world, Nova.KIND, "nova"), the(world, Neutron.KIND, "neutron")
    every = [name for each in objects for name in each["status"]["agents"]]
    assert [name.endswith("@node-1") for name in every].count(True) == 5, every
    return {name for name in every if not name.endswith("@node-1")}


def forgotten(world: World) -> list[str]:
    return sorted(name for call in world.agents.calls for name in call.agents)


def kept_for(world: World) -> tuple[str, str] | None:
    """Reason and message of Nova's condition."""
    entry = find(the(world, Nova.KIND, "nova"), "Agents")
    return (entry["reason"], entry["message"]) if entry else None


async def test_the_agents_of_a_deleted_node_are_forgotten() -> None:
    world = await world_of_two()
    assert known(world) == EVERY
    leave(world)
    await world.run(180)
    assert forgotten(world) == sorted(EVERY)
    assert known(world) == set()
    assert kept_for(world) is None
    assert world.ready()
    values = next(each for each in world.bundle("nova")["spec"]["releases"] if each["chart"] == "nova")["values"]
    assert values["conf"]["hosts"] == ["node-1"]
    writes = world.writes
    await world.run(3600)
    assert len(world.agents.calls) == 2 and world.writes == writes
    world.node("node-2", EVERY_ROLE)
    await world.run(180)
    assert known(world) == EVERY
    assert len(world.agents.calls) == 2
    await world.stop()


async def test_a_node_that_returns_and_leaves_again_is_forgotten_again() -> None:
    """The second removal occurs before the result of the first one expires."""
    world = await world_of_two()
    for times in 1, 2, 3:
        leave(world)
        for _ in range(180):
            await world.run(1)
            if not known(world):
                break
        assert forgotten(world) == sorted([*EVERY] * times)
        world.node("node-2", EVERY_ROLE)
        await world.run(10)
        assert known(world) == EVERY
    await world.stop()


async def test_a_node_that_is_not_ready_is_not_forgotten() -> None:
    world = await world_of_two()
    world.node("node-2", EVERY_ROLE, ready=False)
    await world.run(3600)
    assert forgotten(world) == [] and kept_for(world) is None
    assert known(world) == EVERY
    await world.stop()


async def test_a_node_without_a_role_is_forgotten_when_its_pods_are_deleted() -> None:
    world = await world_of_two()
    pod = the(world, POD, "nova-compute-node-2")
    # The kubelet of these tests deletes pods of DaemonSets, the garbage collector those without an owner.
    owner = the(world, DEPLOYMENT, "nova-conductor")["metadata"]["uid"]
    meta = {"name": "stuck", "namespace": NAMESPACE, "labels": pod["metadata"]["labels"]}
    world.cluster.put(POD, {**pod, "metadata": {**meta, "ownerReferences": [{"kind": "Deployment", "uid": owner}]}})
    world.node("node-2", {"kubernetes.io/os": "linux"}, ready=False)
    await world.run(3600)
    assert forgotten(world) == sorted(NETWORK)
    assert known(world) == {COMPUTE}
    world.delete(POD, "stuck")
    await world.run(180)
    assert forgotten(world) == sorted(EVERY)
    assert known(world) == set()
    await world.stop()


async def test_a_compute_service_with_servers_is_kept_by_name_until_they_are_gone() -> None:
    world = await world_of_two()
    world.contents.things = {COMPUTE: ["server web", "server db"]}
    leave(world)
    await world.run(600)
    assert forgotten(world) == sorted(NETWORK)
    text = "nova-compute on node-2: server web, server db. Each is forgotten when nothing uses it"
    assert kept_for(world) == ("AgentsLeft", f"Kept although their nodes left the cloud: {text}")
    assert world.ready(), "the cloud works without that node"
    states = {find(the(world, Nova.KIND, "nova"), "Agents")["lastTransitionTime"]}  # type: ignore[index]
    await world.run(600)
    states.add(find(the(world, Nova.KIND, "nova"), "Agents")["lastTransitionTime"])  # type: ignore[index]
    assert len(states) == 1, "it does not change from look to look"
    world.contents.things = {}
    await world.run(RARELY)
    assert forgotten(world) == sorted(EVERY)
    assert kept_for(world) is None and known(world) == set()
    await world.stop()


async def test_a_node_that_returns_with_its_servers_is_not_forgotten() -> None:
    world = await world_of_two()
    world.contents.things = {COMPUTE: ["server web"]}
    leave(world)
    await world.run(600)
    world.node("node-2", EVERY_ROLE)
    world.contents.things = {}
    await world.run(600)
    assert COMPUTE not in forgotten(world)
    assert kept_for(world) is None and known(world) == EVERY
    await world.stop()


async def test_a_failure_is_named_by_the_condition_alone_and_retried() -> None:
    world = await world_of_two()
    world.agents.fail["compute"] = TransientError("policy forbids the deletion")
    leave(world)
    await world.run(240)
    events, states = len(world.cluster.events), set()
    for _ in range(60):
        await world.run(60)
        assert world.ready(), world.condition()
        entry = find(the(world, Nova.KIND, "nova"), "Agents")
        assert entry is not None
        states.add((entry["reason"], entry["message"], entry["lastTransitionTime"]))
    ((reason, message, _),) = states
    assert reason == "AgentsLeft" and "nova-compute on node-2: policy forbids the deletion" in message
    assert len(world.cluster.events) == events
    assert len([call for call in world.agents.calls if COMPUTE in call.agents]) <= 4 + 16
    assert known(world) == {COMPUTE}
    world.agents.fail.clear()
    await world.run(RARELY)
    assert known(world) == set() and kept_for(world) is None
    await world.stop()


async def test_a_service_that_does_not_answer_is_named_by_the_condition_alone(monkeypatch: pytest.MonkeyPatch) -> None:
    async def held(*_: Any) -> dict[str, list[str]]:
        raise TransientError("Waiting for compute to list its content: 503")

    world = await world_of_two()
    monkeypatch.setattr(world.contents, "held", held)
    leave(world)
    await world.run(240)
    events = len(world.cluster.events)
    await world.run(600)
    assert "on node-2: Waiting for compute to list its content: 503" in (kept_for(world) or ("", ""))[1]
    assert world.ready() and len(world.cluster.events) == events
    assert forgotten(world) == [] and known(world) == EVERY
    monkeypatch.undo()
    await world.run(180)
    assert known(world) == set()
    await world.stop()


async def test_names_of_servers_have_a_limited_size() -> None:
    world = await world_of_two()
    world.contents.things = {COMPUTE: [f"server {'名' * 255} {number}" for number in range(2000)]}
    leave(world)
    await world.run(180)
    result = world.get(CONFIGMAP, "nova-inventory")
    assert result is not None and len(result["data"]["held.json"].encode()) < 5000
    assert "… and 1995 more. Each" in (kept_for(world) or ("", ""))[1]
    await world.stop()


async def test_an_agent_that_is_kept_causes_few_writes_and_no_waiting_change_of_a_paused_cloud() -> None:
    world = await world_of_two()
    world.contents.things = {COMPUTE: ["server web"]}
    leave(world)
    await world.run(600)
    writes = world.writes
    await world.run(3600)
    assert world.writes - writes <= 16
    writes = world.writes
    await world.run(3600)
    assert world.writes - writes <= 6
    paused = {"metadata": {"annotations": {STACKWRIGHT.annotation: "true"}}}
    await world.cluster.patch(OpenStackDeployment.KIND, (NAMESPACE, NAME), paused)
    await world.run(600)
    writes = world.writes
    await world.run(600)
    assert world.writes == writes
    assert world.ready(), world.condition()
    assert kept_for(world) is not None
    await world.stop()


async def test_a_plan_names_what_is_forgotten_and_what_is_kept() -> None:
    world = await world_of_two()
    await world.stop()
    leave(world)
    for pod in world.cluster.all(POD):
        if pod["spec"]["nodeName"] == "node-2":
            world.delete(POD, pod["metadata"]["name"])
    contents = MemoryContents()
    contents.things = {COMPUTE: ["server web"]}
    request, now = Request(NAMESPACE), world.clock.now()
    found, _ = await forecast(world.cluster, SETTINGS, request, now, Outside(contents))
    told = [line.strip() for line in lines(found) if "on node-2" in line]
    names = ", ".join(f"neutron-{each}-agent on node-2" for each in ("dhcp", "l3", "metadata", "openvswitch"))
    assert told == [
        f"» delete if unused: {names} in networking  (for Neutron openstack/neutron)",
        "… Nova openstack/nova waits for nova-compute on node-2 to be unused",
    ]
    assert world.agents.calls == []
    await world.run(180)
    assert forgotten(world) == sorted(EVERY)
    await world.stop()


@parts(4)
async def test_an_operator_that_is_killed_at_any_write_forgets_all_the_same(part: Part) -> None:
    start = await world_of_two()
    await start.stop()
    undisturbed, fuse = start.again(), Fuse()
    leave(undisturbed)
    await undisturbed.start(fuse)
    await undisturbed.run(180)
    await undisturbed.stop()
    assert fuse.count > 10
    kills = [(number, after) for number in range(1, fuse.count + 1) for after in (False, True)]
    for number, after in sampled(kills, 24, part):
        world = start.again()
        leave(world)
        await world.start(Fuse(number, after))
        with pytest.raises(Crash):
            await world.run(180)
        await world.stop()
        await world.run(180)
        assert set(forgotten(world)) == EVERY, f"killed at write {number}"
        assert known(world) == set(), f"killed at write {number}"
        await world.stop()
