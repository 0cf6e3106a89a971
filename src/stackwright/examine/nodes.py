"""Checks of nodes: their state, architecture and versions, labels, and taints. Pure."""

from __future__ import annotations

import re
from collections.abc import Iterable, Sequence
from typing import Any

from stackwright.api.kinds import NODE
from stackwright.core.findings import Finding
from stackwright.core.kubernetes.nodes import is_up, nodes_text
from stackwright.core.kubernetes.tolerations import Toleration, is_tolerated
from stackwright.core.kubernetes.versions import OLDEST, OLDEST_TEXT, lacks_image_volumes, release
from stackwright.core.plan import Object
from stackwright.examine.demand import Demand, NodeLabel
from stackwright.examine.observe import Observed
from stackwright.examine.server import WITHOUT_IMAGE_VOLUMES
from stackwright.local.image.recipes import ARCHITECTURE

RUNTIMES = {"containerd": (2, 1), "cri-o": (1, 31)}  # first versions with image volumes
_RUNTIME = re.compile(r"([a-z-]{1,20})://(.{1,100})")


def check(seen: Observed, demand: Demand) -> list[Finding]:
    if not seen.knows(NODE):
        return [Finding("nodes", "problem", *seen.unknown(NODE, "nodes"))]
    nodes = concerned(seen.all(NODE), demand)
    return [
        *_state(nodes),
        *_software(nodes, mounts=not lacks_image_volumes(seen.version)),
        *labels(seen.all(NODE), demand),
        *_taints(nodes, demand),
    ]


def concerned(nodes: Sequence[Object], demand: Demand) -> list[Object]:
    """The nodes with a label of the clouds' services; without any such node, all."""
    return [node for node in nodes if any(has_label(node, each) for each in demand.labels)] or list(nodes)


def has_label(node: Object, label: NodeLabel) -> bool:
    return (node["metadata"].get("labels") or {}).get(label[0]) == label[1]


def is_usable(node: Object, tolerations: Iterable[Toleration] = ()) -> bool:
    """Whether new pods with these tolerations may be scheduled on the node."""
    return is_up(node) and not (node.get("spec") or {}).get("unschedulable") and is_tolerated(node, tolerations)


def _state(nodes: Sequence[Object]) -> list[Finding]:
    found = [Finding("nodes", "ok", f"{len(nodes)} concerned")] if nodes else []
    for node in nodes:
        name = node["metadata"]["name"]
        if not is_up(node):
            remedy = f"`kubectl describe node {name}` shows the cause."
            found.append(Finding(f"node {name}", "problem", "It is not Ready.", remedy))
        elif (node.get("spec") or {}).get("unschedulable"):
            remedy = f"`kubectl uncordon {name}`"
            found.append(Finding(f"node {name}", "note", "It accepts no new pods.", remedy))
    return found


def _software(nodes: Sequence[Object], *, mounts: bool) -> list[Finding]:
    """Architecture, kubelet and container runtime; one finding for all nodes with the same fault.

    mounts  whether the API server accepts image volumes, so that the nodes must mount them
    """
    faults: dict[tuple[str, str, str], list[str]] = {}
    for node in nodes:
        for fault in _faults((node.get("status") or {}).get("nodeInfo") or {}, mounts):
            faults.setdefault(fault, []).append(node["metadata"]["name"])
    return [Finding(nodes_text(names), level, text, remedy) for (level, text, remedy), names in faults.items()]


def _faults(info: dict[str, Any], mounts: bool) -> list[tuple[str, str, str]]:
    """(level, text, remedy) of findings."""
    found: list[tuple[str, str, str]] = []
    architecture = str(info.get("architecture") or ARCHITECTURE)
    if architecture != ARCHITECTURE:
        text = f"The architecture is {architecture}; the images are for {ARCHITECTURE} only."
        found.append(("problem", text, "Remove the labels of Stackwright's services from these nodes."))
    kubelet = str(info.get("kubeletVersion") or "")
    if (known := release(kubelet)) and known < OLDEST:
        text = f"The kubelet is {kubelet}; {OLDEST_TEXT} or later is required."
        found.append(("problem", text, f"Upgrade the nodes to Kubernetes {OLDEST_TEXT} or later."))
    elif mounts and lacks_image_volumes(kubelet):
        text = f"The kubelet is {kubelet}, which does not mount image volumes."
        found.append(("note", text, f"Upgrade it to the version of the API server, or {WITHOUT_IMAGE_VOLUMES}."))
    runtime = _RUNTIME.fullmatch(str(info.get("containerRuntimeVersion") or ""))
    if mounts and runtime and (least := RUNTIMES.get(runtime[1])) and (known := release(runtime[2])) and known < least:
        first = ".".join(map(str, least))
        text = f"The container runtime is {runtime[1]} {runtime[2]}, which does not mount image volumes."
        found.append(("note", text, f"Upgrade {runtime[1]} to {first} or later, or {WITHOUT_IMAGE_VOLUMES}."))
    return found


def labels(nodes: Sequence[Object], demand: Demand) -> list[Finding]:
    """Labels that no node has. Without manifests, the labels of all services, of which a cloud may need few."""
    found = []
    for label, services in demand.labels.items():
        key, value = label
        if not any(has_label(node, label) for node in nodes):
            text = f"No node has this label; it is needed for {', '.join(services)}."
            level = "problem" if demand.clouds else "note"
            found.append(Finding(f"label {key}={value}", level, text, f"`kubectl label node NODE {key}={value}`"))
    return found


def _taints(nodes: Sequence[Object], demand: Demand) -> list[Finding]:
    """Taints that the pods of the clouds do not tolerate."""
    away: dict[str, list[str]] = {}
    for node in nodes:
        for taint in (node.get("spec") or {}).get("taints") or ():
            if not is_tolerated({"spec": {"taints": [taint]}}, demand.tolerations):
                value = f"={taint['value']}" if taint.get("value") else ""
                away.setdefault(f"{taint.get('key')}{value}:{taint.get('effect')}", []).append(node["metadata"]["name"])
    found = []
    for taint, names in away.items():
        text = f"The taint {taint} keeps Stackwright's pods away."
        remedy = f"`kubectl taint node {names[0]} {taint}-`, or add a toleration by an override of the cloud."
        found.append(Finding(nodes_text(names), "problem" if len(names) == len(nodes) else "note", text, remedy))
    return found
