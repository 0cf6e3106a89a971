"""(server, its resources in the cloud) → Plan. Pure.

Names are resolved to ids, which are recorded. Then ports, trunks and volumes are created one by one, each recorded
before the next is created, then the server; after that, its state in Nova is reported. A deleted resource is reported,
and recreated if the spec requires it, except for a machine's server that is known by its id. Changes by other clients
are reverted.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from stackwright.api.fields.mark import METADATA_KEY
from stackwright.controllers.infra.cloud_observation import AUTHENTICATION, project
from stackwright.controllers.infra.drift import corrections, with_event
from stackwright.controllers.infra.managed_resources import DesiredResource, Owner, Progress, Record, plan_next, remove
from stackwright.controllers.infra.report import keeping_fields
from stackwright.controllers.infra.server_template import INSTANCE
from stackwright.controllers.infra.teardown import POLL, tear_down
from stackwright.controllers.server.objects import parts
from stackwright.controllers.server.observe import KIND, Observed
from stackwright.controllers.server.pool import POOLED, pooled
from stackwright.controllers.server.record import record_of, written
from stackwright.controllers.server.state import addresses, detached, state_of
from stackwright.core.conditions import Condition, blocked, done, waiting
from stackwright.core.objects import is_deleting, key_of
from stackwright.core.openstack.resources import SERVER_KEY, CloudResource, ResourceKey
from stackwright.core.plan import Action, Plan, apart

RESOLVED, RESOURCES = "Resolved", "ResourcesReady"
FIELDS = {"ready": False, "instanceID": "", "instanceState": "", "addresses": [], "resolved": {}, "resources": {}}
REPLACE = "delete the machine, and its owner creates another one"
CORRECT = "correct that, or delete this object"
RECREATE = (
    "set spec.recreatePolicy to Always to recreate it, which deletes its server and disks with all data on "
    "them, or delete this object"
)
DRIFT = 60.0  # seconds; changes in the project view trigger an earlier reconcile


def decide(seen: Observed) -> Plan:
    if is_deleting(seen.obj):
        kept = {"resolved": resolved} if (resolved := seen.status.get("resolved")) else {}  # for the types to list
        return tear_down(KIND, seen, record_of(seen.status), lambda record: {**kept, **written(record)})
    if seen.errors:
        return _report(seen, blocked("Spec", "InvalidSpec", "; ".join(seen.errors)))
    if seen.failure:
        return _report(seen, seen.failure, requeue=seen.after or POLL)
    if not seen.is_guarded:
        stage = waiting(RESOLVED, "Looking up names", "Applying")
        return _report(seen, stage, actions=(seen.guarded(KIND),), requeue=0.0)
    resolved = seen.status.get("resolved")
    return _make(seen, resolved) if resolved else _resolve(seen)


def _report(
    seen: Observed, *stages: Condition, actions: tuple[Action, ...] = (), requeue: float | None = None, **status: Any
) -> Plan:
    """Status fields that are not passed keep their values."""
    login = () if any(stage.type == AUTHENTICATION for stage in stages) or not seen.view else (done(AUTHENTICATION),)
    every = (*login, *stages)
    status["project"] = project(seen, record_of(seen.status))
    return keeping_fields(seen.status, FIELDS, every, actions, requeue, **status)


def _resolve(seen: Observed) -> Plan:
    """Records the resolved ids before any resource is created."""
    found = seen.resolved
    if found is None or found.value is None:
        problems = "; ".join(found.problems) if found else ""
        stage = waiting(RESOLVED, problems or "Looking up names", "DependencyFailed")
        return _report(seen, stage, requeue=POLL)
    stage = waiting(RESOURCES, "Creating resources", "Applying")
    return _report(seen, done(RESOLVED), stage, requeue=0.0, resolved=dict(found.value))


def _make(seen: Observed, resolved: Mapping[str, Any]) -> Plan:
    assert seen.cloud is not None
    assert seen.view is not None
    if SERVER_KEY[0] in seen.view.unlisted_types:
        return Plan(requeue=POLL)  # no condition to report: the first list is still loading
    owner, wanted = Owner(seen.cloud, seen.identity), list(parts(key_of(seen.obj), seen.spec, resolved))
    before = record_of(seen.status, (part.resource_key for part in wanted))
    found = plan_next(owner, wanted, before, seen.view)
    if found.missing:
        return _lost(seen, owner, found)
    creates = any(call.do == "create" for call in found.calls)
    if not found.wait and (seen.known if SERVER_KEY not in found.existing else seen.adoption and creates):
        return _unknown(seen, before)
    if found.complete:
        return _running(seen, owner, wanted, found)
    if found.ambiguous:
        text = f"{found.wait}; remove {METADATA_KEY} from the metadata of the others"
        stage = blocked(RESOURCES, "ResourceAmbiguous", text)
        return _progress(seen, stage, found.record, requeue=DRIFT)
    if found.originals:
        return _progress(seen, blocked(RESOURCES, "ResourceAmbiguous", found.note), found.record, requeue=DRIFT)
    if found.wait:
        failed = any(each.type == "volume" and "error" in each.state for each in found.existing.values())
        reason = "VolumeError" if failed else "Waiting"
        return _progress(seen, waiting(RESOURCES, found.wait, found.reason or reason), found.record, requeue=POLL)
    stage = waiting(
        RESOURCES, f"Creating {found.calls[0].resource_key[0]} {found.calls[0].resource_key[1]}".rstrip(), "Applying"
    )
    return _progress(seen, stage, found.record, actions=found.calls, requeue=0.0)


def _progress(seen: Observed, stage: Condition, record: Mapping[ResourceKey, Any], **more: Any) -> Plan:
    # Without a server, the previous values describe an earlier server.
    none: dict[str, Any] = {} if record.get(SERVER_KEY) else {"instanceState": "", "addresses": []}
    return _report(seen, done(RESOLVED), stage, **more, ready=False, **written(record), **none)


def _running(seen: Observed, owner: Owner, wanted: Sequence[DesiredResource], found: Progress) -> Plan:
    assert seen.view is not None
    server = found.existing[SERVER_KEY]
    if gone := detached(found.existing):
        return _attached(seen, owner, found, gone)
    state, pool = state_of(server), pooled(seen, owner, found)
    calls = tuple(corrections(owner, wanted, found)) if state.status else ()
    marks = _marked(owner, server) if state.status and not calls else ()
    stages, actions = (state, *pool[:1]) if pool else (state,), pool[1] if pool else ()
    ready = all(stage.status for stage in stages)
    return _report(
        seen, done(RESOLVED), done(RESOURCES, found.note), *stages,
        actions=(*apart(POOLED, actions), *apart(RESOURCES, marks), *with_event(seen.obj, calls, _stage_of)),
        requeue=DRIFT if ready else POLL,
        ready=ready,
        instanceState=server.state,
        addresses=addresses(found.existing, seen.view),
        **written(found.record),
    )  # fmt: skip


def _stage_of(_: ResourceKey) -> str:
    return RESOURCES


def _marked(owner: Owner, server: CloudResource) -> tuple[Action, ...]:
    """Adds our mark to an adopted server; an update of its tags writes the mark too."""
    if server.mark or "tags" not in server.facts:
        return ()
    return (
        owner.call("update", SERVER_KEY, id=server.id, body={"tags": list(server.facts["tags"])}, why="has no mark"),
    )


def _attached(seen: Observed, owner: Owner, found: Progress, gone: Mapping[ResourceKey, Mapping[str, str]]) -> Plan:
    """Attaches detached resources again, one by one."""
    names = ", ".join(f"{what} {name}" for what, name in gone)
    stage = waiting(RESOURCES, f"Another client detached {names}; the operator attaches it again", "Detached")
    body = next(iter(gone.values()))
    call = owner.call("update", SERVER_KEY, id=found.existing[SERVER_KEY].id, body=body, why="was detached")
    return _progress(seen, stage, found.record, actions=with_event(seen.obj, (call,), _stage_of), requeue=POLL)


def _lost(seen: Observed, owner: Owner, found: Progress) -> Plan:
    """Without a server, lost resources were unused and are recreated; otherwise spec.recreatePolicy decides."""
    left = {key: id_ for key, id_ in found.record.items() if key not in found.missing}
    making = waiting(RESOURCES, "Recreating resources that another client deleted", "Applying")
    if SERVER_KEY not in found.record:
        return _progress(seen, making, left, requeue=0.0)
    if seen.known or seen.spec.get("recreatePolicy") != "Always":
        return _report_lost(seen, found)
    # Delete the server first, because it uses the others. Volumes belong to one server; ports keep their addresses.
    due = [key for key in found.existing if key == SERVER_KEY] or [key for key in found.existing if key[0] == "volume"]
    if due:
        calls = (remove(owner, key, found.existing[key], "recreated") for key in due)
        actions = tuple(call for call in calls if call is not None)
        return _progress(seen, making, found.record, actions=actions, requeue=POLL)
    return _progress(seen, making, {key: id_ for key, id_ in left.items() if key != SERVER_KEY}, requeue=0.0)


def _unknown(seen: Observed, before: Record) -> Plan:
    """The server exists, so nothing is created: adopt it with its resources, or report why not."""
    adoption, id_ = seen.adoption, before.get(SERVER_KEY, seen.known)
    if adoption and adoption.record:
        stage = waiting(RESOURCES, f"Adopting server {id_}", "Applying")
        return _progress(seen, stage, {**before, **adoption.record}, requeue=0.0)
    if adoption and adoption.missing:
        return _progress(seen, waiting(RESOURCES, f"Listing the resources of server {id_}"), before, requeue=POLL)
    why = f"cannot be adopted: {adoption.problem}" if adoption else "does not exist"
    of = "status.instanceID" if SERVER_KEY in before else "The providerID of its OpenStackMachine"
    text = f"{of} is server {id_}, which {why}; {REPLACE if seen.known else CORRECT}"
    return _report(seen, done(RESOLVED), blocked(INSTANCE, "InstanceNotFound", text), requeue=DRIFT)


def _report_lost(seen: Observed, found: Progress) -> Plan:
    names = ", ".join(f"{what} {name}".rstrip() for what, name in found.missing)
    out = REPLACE if seen.known else RECREATE
    text = f"Another client deleted {names}; {out}"
    there = {"ready": False, **written(found.record)}
    if SERVER_KEY in found.missing:
        stages = done(RESOLVED), blocked(INSTANCE, "InstanceNotFound", text)
        return _report(seen, *stages, requeue=DRIFT, instanceState="DELETED", addresses=[], **there)
    return _report(seen, done(RESOLVED), blocked(RESOURCES, "ResourceNotFound", text), requeue=DRIFT, **there)
