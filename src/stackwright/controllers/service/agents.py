"""Removes the agents of nodes that left the cloud, or reports why they are kept. Pure.

An agent registers itself at its service, which lists it as down for ever after its node was removed. A node left the
cloud if it lost the label of the agent or was removed from the cluster; a node that is only not ready has not left. The
agent's record is deleted when the node has no pod of the agent, the release no longer expects the node, and the service
lists the agent as down and unused: a compute service with servers is never deleted. Neither the agents nor an error
affects Ready: the action writes an error into its result, as the cause for which the agent is kept. It is repeated with
growing delays while the result stays the same.

When a node in the result is back in the cloud, the result is no longer valid.

The status contains the nodes that had the label; the service may list an agent under their names. Agents of another
back end are not recorded, and those of a former one are kept while their nodes have the label. No other agent is
removed: hosts outside the cluster may register themselves, too, and overrides may place agents by other labels.
"""

from __future__ import annotations

import math
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, replace

from stackwright.controllers.service.observe import Observed
from stackwright.core.conditions import Condition, Wait, waiting
from stackwright.core.objects import label
from stackwright.core.openstack.deployed import inventory
from stackwright.core.openstack.deployed.agents import (
    REPORTS,
    described,
    display_name,
    display_names,
    registered,
    truncated,
)
from stackwright.core.plan import DeleteAgents, Inventory, Object, Plan
from stackwright.services.context import Context
from stackwright.services.declaration import Service
from stackwright.services.keystone.values import ADMIN_SECRET

TYPE = "Agents"
LOOK = 60.0  # seconds until the next attempt; Nova lists a service as down 60 s after its last report
LASTING = 2 * LOOK  # the same if no agent is kept because it still reports, which ends soon
RARELY = 5 * LASTING  # longest such time, because each attempt writes its result


@dataclass(frozen=True)
class _Result:
    """The result of the last attempt.

    held   agent → causes for which it is kept; empty if it was removed
    lasts  seconds for which the result is still valid
    """

    held: Mapping[str, list[str]]
    lasts: float


def without_left_agents(seen: Observed, plan: Plan) -> Plan:
    """The plan of a service, with the action, the condition and the record of its agents."""
    if not seen.declared.agents:
        return plan
    recorded = set((seen.obj.get("status") or {}).get("agents") or ())
    if seen.context is None:  # nodes and pods were not read
        return replace(plan, status={**plan.status, "agents": sorted(recorded)})
    labelled = {
        name
        for agent in seen.declared.agents
        for node in seen.context.labelled(agent.label)
        if (name := registered(agent.binary, node.name)) in recorded or agent.wanted(seen.context.settings)
    }
    leaving = recorded - labelled
    left = leaving - set(_with_pods(seen.declared, seen.context))
    result = _result(seen.inventory, seen.now)
    if back := not labelled.isdisjoint(result.held):
        result = replace(result, lasts=0.0)
    forgotten = {name for name in left if result.held.get(name) == [] and result.lasts > 0}
    plan = replace(plan, status={**plan.status, "agents": sorted(labelled | recorded - forgotten)})
    kept = tuple(sorted(left - forgotten))
    condition, due, turn = _about(plan, kept, result)
    if due or back:
        key, admin = (
            (seen.context.namespace, inventory.name_of(seen.context.name)),
            (seen.context.namespace, ADMIN_SECRET),
        )
        look = Inventory(key, seen.obj, seen.declared.service, tuple(sorted(leaving - forgotten)), admin)
        plan = replace(plan, actions=(*plan.actions, DeleteAgents(look, due)))
    if condition is None:
        return plan
    return replace(plan, conditions=(*plan.conditions, condition), requeue=min(turn, plan.requeue or math.inf))


def _with_pods(declared: Service, context: Context) -> Iterator[str]:
    for pod in context.pods:
        for agent in declared.agents:
            if label(pod, "component") == agent.component:
                yield registered(agent.binary, str((pod.get("spec") or {}).get("nodeName") or ""))


def _result(found: Object | None, now: float) -> _Result:
    """The result in the ConfigMap, for its remaining validity."""
    held, (made, same) = inventory.holdings(found), inventory.times(found)
    age = now - made
    least = LOOK if any(REPORTS in causes for causes in held.values()) else LASTING
    period = inventory.period(same, least, RARELY)
    return _Result(held, period - age if 0 <= age < period else 0.0)  # the age is negative if the clock was ahead


def _about(plan: Plan, kept: tuple[str, ...], result: _Result) -> tuple[Condition | None, tuple[str, ...], float]:
    """The condition of agents to be removed, those to try now, and the seconds until the next decision."""
    if not kept:
        return None, (), LOOK
    if not any(each.type == "Release" and each.status for each in plan.conditions):
        return _waiting(kept, "the release is not ready"), (), LOOK
    used = {name: causes for name, causes in result.held.items() if name in kept and causes}
    condition = _used(used) if used else _waiting(kept, "checking what uses them")
    if result.lasts > 0 and all(name in used for name in kept):
        return condition, (), result.lasts
    return condition, kept, LOOK


def _waiting(left: tuple[str, ...], cause: str) -> Condition:
    return waiting(TYPE, f"{display_names(left)} will be forgotten, because their nodes left the cloud: {cause}")


def _used(used: Mapping[str, list[str]]) -> Condition:
    parts = truncated([f"{display_name(name)}: {described(causes)}" for name, causes in used.items()])
    text = f"Kept although their nodes left the cloud: {'; '.join(parts)}. Each is forgotten when nothing uses it"
    return Condition(TYPE, False, "AgentsLeft", text, Wait(f"{display_names(used)} to be unused"))
