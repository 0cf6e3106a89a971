"""The objects of clouds joined into trees from cloud to pod, for `status` and `wait`. Pure, except `described`."""

from __future__ import annotations

import time
from collections.abc import Iterable, Mapping
from datetime import datetime
from typing import Any

from stackwright.api.kinds import JOB, POD, WORKLOADS
from stackwright.api.services.helmbundle import HelmBundle
from stackwright.cli.state.objects import World, owners
from stackwright.cli.ui.output import ago
from stackwright.cli.ui.tree import BLOCKED, BUSY, READY, UNKNOWN, Node, Subject
from stackwright.cloud.registry import CLOUD_KINDS, CONTRACT_KINDS, SERVICE_KINDS
from stackwright.core.conditions import find, is_blocked
from stackwright.core.kubernetes.workload_health import is_stuck, pod_problem, pods_of, workload_cause, workload_ready
from stackwright.core.objects import is_deleting, key_of, label
from stackwright.core.plan import Object
from stackwright.services.registry import SERVICES

INSTANCE = "app.kubernetes.io/instance"


def trees(world: World, name: str | None = None) -> list[Node]:
    """One tree per cloud, and one for each service object and HelmBundle without a cloud."""
    every = world.of(*(resource.KIND for resource in CLOUD_KINDS))
    clouds = [c for c in every if name in (None, c["metadata"]["name"])]
    found = [cloud(world, each) for each in clouds]
    if name is None:
        services = [resource.KIND for resource in SERVICE_KINDS]
        found += [service(world, each) for each in world.of(*services) if not owners(each)]
        found += [bundle(world, each) for each in world.of(HelmBundle.KIND) if not owners(each)]
    return found


def tree(world: World, obj: Object) -> Node:
    """The tree of one of our objects."""
    if obj["kind"] in {resource.KIND.kind for resource in CLOUD_KINDS}:
        return cloud(world, obj)
    if obj["kind"] in {resource.KIND.kind for resource in SERVICE_KINDS}:
        return service(world, obj)
    return bundle(world, obj) if obj["kind"] == HelmBundle.KIND.kind else node(world, obj)


def cloud(world: World, obj: Object) -> Node:
    services = world.owned(obj, *(resource.KIND for resource in SERVICE_KINDS))
    order = [declared.name for declared in SERVICES]  # a service follows the services that it requires
    services.sort(key=lambda each: order.index(each["metadata"]["name"]) if each["metadata"]["name"] in order else -1)
    return node(world, obj, tuple(service(world, each) for each in services))


def service(world: World, obj: Object) -> Node:
    contracts = world.owned(obj, *(resource.KIND for resource in CONTRACT_KINDS))
    bundles = world.owned(obj, HelmBundle.KIND)
    children = [node(world, each) for each in contracts] + [bundle(world, each) for each in bundles]
    return node(world, obj, tuple(children))


def bundle(world: World, obj: Object) -> Node:
    statuses = (obj.get("status") or {}).get("releaseStatuses") or {}
    releases = [
        _release(world, wanted["name"], statuses.get(wanted["name"]) or {}) for wanted in obj["spec"]["releases"]
    ]
    return node(world, obj, tuple(releases))


def _release(world: World, name: str, status: Mapping[str, Any]) -> Node:
    workloads = [w for w in world.of(*WORKLOADS, JOB) if label(w, INSTANCE) == name]
    children = tuple(workload(world, each) for each in workloads)
    revision = status.get("revision")
    facts = (f"revision {revision}",) if revision else ()
    if status.get("success"):
        return Node(READY, f"release {name}", "", facts, children, Subject("HelmRelease", name))
    failed = bool(status.get("failedDigest"))
    message = (
        "" if any(child.state != READY for child in children) else str(status.get("message") or "not installed yet")
    )
    return Node(BLOCKED if failed else BUSY, f"release {name}", message, facts, children, Subject("HelmRelease", name))


def workload(world: World, obj: Object) -> Node:
    pods = pods_of(obj, world.of(POD))
    title = f"{obj['kind']} {obj['metadata']['name']}"
    children = tuple(pod(world, dict(each)) for each in pods)
    subject = _subject(obj, obj["metadata"].get("creationTimestamp"))
    if workload_ready(obj):
        return Node(READY, title, "", _pods_fact(obj), children, subject)
    explained = any(child.message for child in children)
    message = "" if explained else workload_cause(obj, pods)
    return Node(_worst(children) or BUSY, title, message, _pods_fact(obj), children, subject)


def _pods_fact(obj: Object) -> tuple[str, ...]:
    status, spec = obj.get("status") or {}, obj.get("spec") or {}
    if obj["kind"] == "Job":
        return ()
    ready = status.get("numberReady" if obj["kind"] == "DaemonSet" else "readyReplicas") or 0
    wanted = status.get("desiredNumberScheduled") if obj["kind"] == "DaemonSet" else spec.get("replicas", 1)
    return (f"{ready}/{wanted or 0}",)


def pod(world: World, obj: Object) -> Node:
    status = obj.get("status") or {}
    containers = [*(status.get("initContainerStatuses") or ()), *(status.get("containerStatuses") or ())]
    restarts = sum(container.get("restartCount") or 0 for container in containers)
    facts = [_since(world, obj["metadata"].get("creationTimestamp"))]
    facts += [f"{restarts} restart{'s' if restarts > 1 else ''}"] if restarts else []
    facts += [f"on {node}"] if (node := (obj.get("spec") or {}).get("nodeName")) else []
    conditions = {c["type"]: c for c in status.get("conditions") or ()}
    finished = status.get("phase") == "Succeeded"
    good = finished or (conditions.get("Ready") or {}).get("status") == "True"
    title = f"Pod {obj['metadata']['name']}"
    subject = _subject({**obj, "kind": "Pod"}, obj["metadata"].get("creationTimestamp"))
    if good and not is_deleting(obj):
        return Node(READY, title, "", ("completed", *facts[:1]) if finished else tuple(facts), (), subject)
    problem = pod_problem(obj)
    message = problem.text if problem else f"{status.get('phase', 'unknown')}".lower()
    state = BLOCKED if is_stuck(obj) else BUSY
    return Node(state, title, message, tuple(fact for fact in facts if fact), (), subject)


def _worst(children: Iterable[Node]) -> str:
    states = {child.state for child in children}
    return next((state for state in (BLOCKED, BUSY) if state in states), "")


def described(obj: Object) -> dict[str, Any]:
    """One object in the format of `status` for programs, without its children."""
    shown = node(World(time.time()), obj).as_dict()
    return {key: value for key, value in shown.items() if key not in ("facts", "children")}


def node(world: World, obj: Object, children: tuple[Node, ...] = (), more: tuple[str, ...] = ()) -> Node:
    """One of our objects with its Ready condition; `more` are facts before the common ones."""
    entry = find(obj)
    title = f"{obj['kind']} {'/'.join(key_of(obj))}"
    progress = str((obj.get("status") or {}).get("progress") or "")
    reason = str((entry or {}).get("reason") or "")
    if is_deleting(obj):
        stamp = obj["metadata"]["deletionTimestamp"]
        message = str((entry or {}).get("message") or "is being deleted")
        subject = _subject(obj, stamp, reason)
        return Node(BUSY, title, message, (*more, _since(world, stamp)), children, subject)
    if entry is None:
        stamp = obj["metadata"].get("creationTimestamp")
        facts = (*more, _since(world, stamp))
        return Node(UNKNOWN, title, "the operator has not processed it yet", facts, children, _subject(obj, stamp))
    stamp = entry.get("lastTransitionTime")
    subject = _subject(obj, stamp, reason)
    facts = tuple(fact for fact in (*more, progress, _since(world, stamp)) if fact)
    if entry.get("observedGeneration") != obj["metadata"].get("generation"):
        return Node(BUSY, title, "the operator has not processed its last change yet", facts, children, subject)
    if entry["status"] == "True":
        return Node(READY, title, "", facts, children, subject)
    state = BLOCKED if is_blocked(entry) else BUSY
    return Node(state, title, str(entry.get("message") or reason), facts, children, subject)


def _subject(obj: Object, since: str | None, reason: str = "") -> Subject:
    meta = obj["metadata"]
    return Subject(str(obj["kind"]), str(meta["name"]), str(meta.get("namespace") or ""), reason, since or "")


def _since(world: World, stamp: str | None) -> str:
    if not stamp:
        return ""
    return ago(world.now - datetime.fromisoformat(stamp).timestamp())
