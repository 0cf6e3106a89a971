"""Nodes that are removed permanently: the data deleted with them, and the reasons to keep them. Read-only."""

from __future__ import annotations

from collections import Counter
from dataclasses import dataclass
from typing import Any

from stackwright.local.commands import LocalError
from stackwright.local.steps.context import Context


@dataclass(frozen=True)
class NodeClaim:
    """A claim whose volume is a directory of a node.

    group  its namespace, program and component
    """

    claim: str
    node: str
    group: tuple[str, str, str]


def losses(ctx: Context, *, running: bool) -> list[str]:
    """The data that is deleted with the surplus nodes. Raises LocalError if they must stay.

    running  whether the cluster can be queried for their content
    """
    found = [f"{node.name} with the disks of its virtual machines and its volumes: {node.home}" for node in ctx.surplus]
    if not (found and running):
        return found
    try:
        there = held(ctx)
    except LocalError:  # the cluster is down; whether they must stay is checked again before their removal
        return found
    refuse_voters(ctx, there)
    gone = {node.name for node in ctx.surplus}
    return found + [f"volume {each.claim}, on {each.node}" for each in there if each.node in gone]


def held(ctx: Context) -> list[NodeClaim]:
    listed = (ctx.api.get("/api/v1/persistentvolumeclaims") or {}).get("items", [])
    labels = {_key(each["metadata"]): each["metadata"].get("labels") or {} for each in listed}
    found = []
    for volume in (ctx.api.get("/api/v1/persistentvolumes") or {}).get("items", []):
        key, node = _key(volume["spec"].get("claimRef") or {}), _node_of(volume)
        if node and key in labels:
            group = (key[0], labels[key].get("application", ""), labels[key].get("component", ""))
            found.append(NodeClaim("/".join(key), node, group))
    return sorted(found, key=lambda each: each.claim)


def refuse_voters(ctx: Context, there: list[NodeClaim]) -> None:
    """Raises LocalError for the loss of a voting server, as admission does for such a spec."""
    from stackwright.api.services.voters import voter_error  # a second `up` is fast and never needs these imports
    from stackwright.services.voters import is_voter

    gone = {node.name for node in ctx.surplus}
    all_of = Counter(each.group for each in there)
    errors = list[str]()
    for group, count in Counter(each.group for each in there if each.node in gone).items():
        namespace, program, component = group
        if is_voter(program, component) and (error := voter_error(all_of[group], all_of[group] - count)):
            errors.append(f"  {namespace}/{program}: {error}")
    if errors:
        names = ", ".join(node.name for node in ctx.surplus)
        head = f"{names} cannot be removed: servers of a cloud would be lost with their data:"
        keep = f"`stackwright up --nodes {ctx.surplus[-1].index}` keeps all nodes."
        raise LocalError("\n".join([head, *errors, keep]))


def _key(reference: dict[str, Any]) -> tuple[str, str]:
    return str(reference.get("namespace", "")), str(reference.get("name", ""))


def _node_of(volume: dict[str, Any]) -> str:
    """The node to which a volume is bound by host name; empty for a volume that every node can use."""
    terms = ((volume["spec"].get("nodeAffinity") or {}).get("required") or {}).get("nodeSelectorTerms") or []
    for term in terms:
        for each in term.get("matchExpressions") or []:
            if each["key"] == "kubernetes.io/hostname" and each.get("values"):
                return str(each["values"][0])
    return ""
