"""Forgets the agents of nodes that left the cloud, or reports what they are kept for. Pure.

An agent registers itself at its service, which lists it as down forever after its node is gone. A node left the cloud
if it lost the label of the agent, or is no longer a node of the cluster; a node that is only not ready has not. The
record is deleted when no pod of the agent is left on the node, the release no longer expects the node, and the service
lists the agent as down and unused: a compute service with servers is never deleted. None of this affects Ready.

The status contains the nodes that had the label, under whose names the service may know an agent. No other agent is
forgotten: hosts outside the cluster may register themselves, too, and overrides may place agents by other labels.
"""

from __future__ import annotations

import json
import math
from collections.abc import Iterator, Mapping
from dataclasses import replace

from stackwright.controllers.service.observe import Observed, inventory_name
from stackwright.core.conditions import Condition, Wait, waiting
from stackwright.core.digest import digest
from stackwright.core.objects import DIGEST, annotation, label
from stackwright.core.openstack.agents import registered, shown
from stackwright.core.plan import Action, ForgetAgents, Inventory, Plan
from stackwright.services.context import Context
from stackwright.services.declaration import Service
from stackwright.services.keystone.values import ADMIN_SECRET

TYPE = "Agents"
LOOK = 60.0  # seconds until the next inventory; Nova lists a service as down 60 s after its last report
MANY = 50  # agents; with each further such number, LOOK is added once: an inventory sends a few requests per agent
SHOWN = 5


def without_left_agents(seen: Observed, plan: Plan) -> Plan:
    """The plan of a service, with the actions, the condition and the record of its agents."""
    if not seen.declared.agents:
        return plan
    recorded = set((seen.obj.get("status") or {}).get("agents") or ())
    if seen.context is None:  # nodes and pods are unknown
        return replace(plan, status={**plan.status, "agents": sorted(recorded)})
    labelled = {
        registered(agent.binary, node.name)
        for agent in seen.declared.agents
        for node in seen.context.labelled(agent.label)
    }
    left = tuple(sorted(recorded - labelled - set(_with_pods(seen.declared, seen.context))))
    actions, conditions = _forget(seen, seen.context, left, plan)
    forgotten = {name for each in actions if isinstance(each, ForgetAgents) for name in each.agents}
    return replace(
        plan,
        actions=(*plan.actions, *actions),
        conditions=(*plan.conditions, *conditions),
        status={**plan.status, "agents": sorted(labelled | recorded - forgotten)},
        requeue=min(plan.requeue or math.inf, _period(left)) if conditions else plan.requeue,
    )


def _with_pods(declared: Service, context: Context) -> Iterator[str]:
    for pod in context.pods:
        for agent in declared.agents:
            if label(pod, "component") == agent.component:
                yield registered(agent.binary, str((pod.get("spec") or {}).get("nodeName") or ""))


def _forget(
    seen: Observed, context: Context, left: tuple[str, ...], plan: Plan
) -> tuple[list[Action], tuple[Condition, ...]]:
    if not left:
        return [], ()
    if not any(each.type == "Release" and each.status for each in plan.conditions):
        return [], (_waiting(left, "the release is not ready"),)
    made = digest(left, int(seen.now // _period(left)))
    held = json.loads(((seen.inventory or {}).get("data") or {}).get("held.json") or "{}")
    used = {name: things for name, things in held.items() if name in left and things}
    conditions = (_used(used),) if used else ()
    admin = (context.namespace, ADMIN_SECRET)
    if annotation(seen.inventory, DIGEST) != made:
        key = (context.namespace, inventory_name(context.name))
        look = Inventory(key, seen.obj, seen.declared.service, left, admin, made)
        return [look], conditions or (_waiting(left, "checking what uses them"),)
    unused = tuple(name for name in left if held.get(name) == [])
    return [ForgetAgents(seen.declared.service, unused, admin)] if unused else [], conditions


def _period(left: tuple[str, ...]) -> float:
    """Seconds in which the result of an inventory is valid; an inventory takes less."""
    return LOOK * (1 + len(left) // MANY)


def _waiting(left: tuple[str, ...], cause: str) -> Condition:
    names = _some([shown(name) for name in left])
    return waiting(TYPE, f"{names} will be forgotten, because their nodes left the cloud: {cause}")


def _used(used: Mapping[str, list[str]]) -> Condition:
    parts = [f"{shown(name)}: {_some(things)}" for name, things in used.items()]
    text = f"Kept although their nodes left the cloud: {'; '.join(parts)}. Each is forgotten when nothing uses it"
    return Condition(TYPE, False, "AgentsLeft", text, Wait(f"{', '.join(map(shown, used))} to be unused"))


def _some(things: list[str]) -> str:
    more = f" and {len(things) - SHOWN} more" if len(things) > SHOWN else ""
    return f"{', '.join(things[:SHOWN])}{more}"
