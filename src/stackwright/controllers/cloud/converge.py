"""(spec of a cloud, its service objects) → Plan, for both kinds of clouds. Pure.

All service objects are written at once; each one waits for its own dependencies and reports them. The cloud is Ready
when all services are, and until then reports the worst of their conditions. If an update would reduce the number of
voting servers of one service, no part of the update is applied.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any

from stackwright.api.kinds import DAEMONSET
from stackwright.api.meta import Model
from stackwright.api.support import unused_fields
from stackwright.cloud.deployment import OpenStackDeploymentSpec
from stackwright.controllers.cloud.objects import Refinement, service_object
from stackwright.controllers.cloud.observe import Observed
from stackwright.controllers.cloud.pull_secrets import copies
from stackwright.controllers.cloud.selection import Wanted, wanted_services
from stackwright.controllers.cloud.voters import update_voter_errors
from stackwright.core.conditions import (
    Condition,
    blocked,
    condition_type,
    done,
    find,
    is_ready,
    summary,
    waiting,
    waiting_for,
    why_not_ready,
)
from stackwright.core.helm.rollouts import node_of
from stackwright.core.kubernetes import pod_security, precache, pulls
from stackwright.core.kubernetes.nodes import away
from stackwright.core.kubernetes.tolerations import Toleration
from stackwright.core.kubernetes.workload_health import is_stuck, pod_cause
from stackwright.core.objects import CLOUD, ensure, is_deleting, key_of, label
from stackwright.core.plan import Action, Delete, Object, Plan
from stackwright.services.ceph.kind import Ceph
from stackwright.services.images import IDLE, images_and_tolerations, reference
from stackwright.services.registry import BY_KIND

INFRASTRUCTURE = "infra"
POLL = 10.0  # seconds, while pods may be refused


@dataclass(frozen=True)
class Entry:
    """Additions of a kind other than OpenStackDeployment to its OpenStackDeploymentSpec.

    refine  additions to one service
    staged  why only the infrastructure is written for now, None if all services are; existing services stay
    gone    reason for the deletion of a service object
    given   the user's spec of that kind
    first   actions before those of the services;  last  actions after those of the services
    """

    refine: Callable[[Wanted], Refinement | None] = lambda wanted: None
    staged: Condition | None = None
    gone: str = "no longer in preset or features.services"
    given: Model | None = None
    first: tuple[Action, ...] = ()
    last: tuple[Action, ...] = ()


def another(others: Sequence[str]) -> Condition:
    text = f"The namespace has an older cloud, {others[0]}; delete this one: a namespace can have only one cloud"
    return blocked("Ready", "AnotherCloud", text)


def stopped(condition: Condition) -> Plan:
    return Plan(conditions=(condition,), status={"progress": "", "version": "", "services": {}})


def converge(seen: Observed, spec: OpenStackDeploymentSpec, entry: Entry = Entry()) -> Plan:
    every = wanted_services(spec)
    objects = [service_object(seen.obj, spec, each, entry.refine(each)) for each in every]
    if errors := update_voter_errors(seen, zip(every, objects, strict=True)):
        return stopped(blocked("Ready", "WouldLoseMajority", "; ".join(errors)))
    secrets, copied, again = copies(seen)
    images, held = _images(seen, every, objects)
    pairs = [
        (each, thing)
        for each, thing in zip(every, objects, strict=True)
        if entry.staged is None or each.declared.group == INFRASTRUCTURE
    ]
    actions: list[Action] = [*entry.first, *secrets, *images]
    services: list[Condition] = []
    states: dict[str, Any] = {}
    for each, thing in pairs:
        declared, current = each.declared, seen.services.get(each.key)
        needed = ensure(declared.kind, thing, current)
        actions += needed
        services.append(_stage(each, current, changed=bool(needed)))
        alone = each.name == declared.name
        states[declared.service if alone else each.name] = _state(current)
    wanted, stores = {each.key for each in every}, _stores(seen)
    actions += _surplus(seen, wanted | stores.keys(), entry.gone)
    actions += entry.last
    # All releases wait for the images, so a failed pull explains the waits of all services.
    causes = [held] if held.reason in pulls.REASONS else []
    rest = [
        *copied,
        held,
        *_kept(stores, wanted),
        *([entry.staged] if entry.staged else []),
        *_unused(entry.given or spec),
    ]
    ready = sum(1 for stage in services if stage.status)
    return Plan(
        tuple(actions),
        (summary([*causes, *services, *_nodes(seen.obj), *rest]), *services, *rest),
        {"progress": f"{ready}/{len(pairs)}", "version": spec.openstack_version, "services": states},
        # No watch reports the Events with the cause if the DaemonSet has no pods.
        POLL if seen.holder and pod_security.may_be_refused(seen.holder) else again,
    )


def _unused(spec: Model) -> list[Condition]:
    """Reports fields that are accepted but have no effect."""
    if not (fields := unused_fields(spec)):
        return []
    what = "is accepted but not used" if len(fields) == 1 else "are accepted but not used"
    text = f"{', '.join(fields)} {what}: {'; '.join(dict.fromkeys(fields.values()))}"
    return [done("UnusedFields", text, "Unused")]


def _images(seen: Observed, wanted: list[Wanted], desired: list[Object]) -> tuple[list[Action], Condition]:
    """The DaemonSet that pulls the images of all services to the nodes before any release is changed."""
    images: set[str] = set()
    tolerations: list[Toleration] = []
    for each, thing in zip(wanted, desired, strict=True):
        needed, tolerated = images_and_tolerations(each.declared, thing["spec"], seen.settings.images)
        images |= needed
        tolerations += tolerated
    known = seen.settings
    holder = precache.daemonset(
        seen.obj,
        images,
        reference(known.images, "pause"),
        tolerations,
        known.pull_secrets,
        known.precaching,
        {reference(known.images, name): command for name, command in IDLE.items()},
    )
    if changes := ensure(DAEMONSET, holder, seen.holder):
        return list(changes), waiting("Images", "Updating the DaemonSet that pulls images", "Applying")
    if seen.holder and (refused := pod_security.refusal(seen.holder, seen.events)):
        return [], waiting("Images", refused, pod_security.REASON)
    if lacking := precache.lacking(seen.holder, seen.nodes, images):
        pods = [pod for pod in seen.pods if node_of(pod) not in away(seen.nodes)]
        return [], waiting_for("Images", lacking, *_why_lacking(pods))
    return [], done("Images")


def _why_lacking(pods: Sequence[Object]) -> tuple[str, str]:
    """The cause and the reason if pods of the DaemonSet do not start, as far as they are known."""
    if failure := pulls.first_failure(pods):
        return failure.message, failure.reason
    return next((pod_cause(pod) for pod in sorted(pods, key=key_of) if is_stuck(pod)), ""), "Waiting"


def _stage(wanted: Wanted, current: Object | None, *, changed: bool) -> Condition:
    declared = wanted.declared
    type_ = declared.kind.kind if wanted.name == declared.name else condition_type(wanted.name)
    if changed or current is None:
        return waiting(type_, f"Updating {type_}", "Applying")
    if is_deleting(current):
        return waiting(type_, f"Waiting for the old {type_} to be removed", "Deleting")
    if is_ready(current):
        return done(type_, reason="Ready")
    entry = find(current) or {}
    return Condition(type_, False, str(entry.get("reason") or "Waiting"), f"{type_}: {why_not_ready(current)}")


def _state(current: Object | None) -> dict[str, str]:
    status = (current or {}).get("status") or {}
    ready = is_ready(current)
    return {
        "state": str(status.get("state") or "WAITING"),
        "openstack_version": str(status.get("release") or ""),
        "message": "" if ready else why_not_ready(current),
    }


def _surplus(seen: Observed, wanted: set[tuple[str, str]], why: str) -> list[Action]:
    """The deletions of service objects of this cloud that its spec no longer requests."""
    mine = seen.obj["metadata"]["name"]
    return [
        Delete(BY_KIND[kind].kind, key_of(found), why)
        for (kind, name), found in sorted(seen.services.items())
        if (kind, name) not in wanted and label(found, CLOUD) == mine and not is_deleting(found)
    ]


def _stores(seen: Observed) -> dict[tuple[str, str], list[str]]:
    """Each Ceph of this cloud with data of services → its clients. It is not deleted before them."""
    mine, found = seen.obj["metadata"]["name"], dict[tuple[str, str], list[str]]()
    for each in seen.clients:
        key = (Ceph.KIND.kind, str(each["spec"].get("instance")))
        if label(seen.services.get(key), CLOUD) == mine:
            found.setdefault(key, []).append("/".join(key_of(each)))
    return found


def _kept(stores: dict[tuple[str, str], list[str]], wanted: set[tuple[str, str]]) -> list[Condition]:
    """Waits for the services whose data are in a Ceph that the spec no longer requests."""
    clients = [name for key, names in stores.items() if key not in wanted for name in names]
    text = f"Ceph is no longer requested, but kept until its clients are removed: {', '.join(clients)}"
    return [waiting("Removal", text, "InUse")] if clients else []


def _nodes(obj: Object) -> list[Condition]:
    """The node controller's condition if it is false: a lost node explains other failures."""
    entry = find(obj, "Nodes")
    if entry and entry["status"] == "False":
        return [Condition("Nodes", False, str(entry["reason"]), str(entry["message"]))]
    return []
