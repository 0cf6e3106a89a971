"""(nodes) → condition Nodes. Pure. Only nodes with one of the cloud's labels are considered."""

from __future__ import annotations

from stackwright.controllers.node.observe import Observed
from stackwright.core.conditions import Condition, done
from stackwright.core.objects import is_deleting
from stackwright.core.plan import Object, Plan

LABELS = ("openstack-control-plane", "openstack-compute-node", "openvswitch", "openstack-gateway")


def decide(seen: Observed) -> Plan:
    if is_deleting(seen.obj):
        return Plan()
    lost = [text for node in seen.nodes if _ours(node) and (text := _trouble(node))]
    if not lost:
        return Plan(conditions=(done("Nodes", reason="Ready"),))
    return Plan(conditions=(Condition("Nodes", False, "NodeLost", "; ".join(sorted(lost))),))


def _ours(node: Object) -> bool:
    labels = node["metadata"].get("labels") or {}
    return any(labels.get(name) == "enabled" for name in LABELS)


def _trouble(node: Object) -> str:
    name = node["metadata"]["name"]
    for condition in (node.get("status") or {}).get("conditions") or ():
        if condition["type"] == "Ready" and condition["status"] != "True":
            return f"Node {name} is not ready: {condition.get('message') or condition.get('reason')}"
    return ""
