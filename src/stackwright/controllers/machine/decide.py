"""(machine, its cluster, its server) → Plan. Pure.

The machine waits for its cluster and its bootstrap data, creates one OpenStackServer, and copies the server's
conditions, so that users see the cause of a wait on the machine. A providerID is never overwritten, and its server is
never recreated: Cluster API replaces the machine.
"""

from __future__ import annotations

from typing import Any

from stackwright.controllers.infra.origin import guard, is_guarded, is_restored
from stackwright.controllers.infra.report import keeping_fields
from stackwright.controllers.infra.server_template import INSTANCE, SERVER_KIND, adopted, propagated
from stackwright.controllers.infra.teardown import DELETED, POLL
from stackwright.controllers.machine.objects import provider_id, server_of
from stackwright.controllers.machine.observe import KIND, Observed
from stackwright.controllers.machine.wait import BOOTSTRAP, reason_to_wait
from stackwright.core.conditions import (
    READY,
    Condition,
    SameAs,
    blocked,
    copied,
    find,
    summary,
    waiting,
    waiting_for,
)
from stackwright.core.objects import belongs, completed, has_finalizer, is_deleting, key_of
from stackwright.core.plan import Action, Apply, Delete, Finalizer, Object, Plan, Warn, apart

FIELDS = {
    "ready": False,
    "initialization": {},
    "instanceID": "",
    "instanceState": "",
    "addresses": [],
    "failureDomain": "",
}
SOON = 5.0  # seconds; Machines are polled, and all earlier waits take longer


def decide(seen: Observed) -> Plan:
    if is_deleting(seen.obj):
        return _leave(seen)
    if not is_guarded(seen.obj, seen.origin):
        stage = waiting(INSTANCE, "Reading the cluster", "Applying")
        return _report(seen, stage, actions=(guard(KIND, seen.obj, seen.origin),), requeue=0.0)
    if server := _own(seen):
        return _mirror(seen, server)
    if seen.errors:
        return _report(seen, blocked(INSTANCE, "InvalidSpec", "; ".join(seen.errors)))
    if wait := reason_to_wait(seen):
        return _report(seen, wait, requeue=SOON if wait.reason == BOOTSTRAP else POLL)
    stage = waiting(INSTANCE, f"Creating OpenStackServer {seen.obj['metadata']['name']}", "Applying")
    return _report(seen, stage, actions=(Apply(SERVER_KIND, server_of(seen), "absent"),))


def _own(seen: Observed) -> Object | None:
    """The server of this machine, or a restored server that is about to be adopted."""
    ours = belongs(seen.server, seen.obj["metadata"]["uid"]) or is_restored(seen.server, seen.obj)
    return seen.server if ours else None


def _report(
    seen: Observed, stage: Condition, actions: tuple[Action, ...] = (), requeue: float | None = None, **status: Any
) -> Plan:
    """Status fields that are not passed keep their values."""
    return keeping_fields(seen.status, FIELDS, [stage], actions, requeue, **status)


def _changes(seen: Observed, server: Object) -> tuple[Action, ...]:
    identity = seen.cluster["spec"].get("identityRef") if seen.cluster and not seen.cluster_errors else None
    return propagated(server, seen.obj, seen.spec, identity)


def _mirror(seen: Observed, server: Object) -> Plan:
    status = server.get("status") or {}
    ready = bool(status.get("ready")) and not is_deleting(server)
    active, known = status.get("instanceState") == "ACTIVE", seen.spec.get("providerID")
    if active and known and not _names(known, status["instanceID"]):
        text = f"spec.providerID is {known}, and OpenStackServer {server['metadata']['name']} is {status['instanceID']}"
        way = "delete that OpenStackServer, or this object"
        return _report(seen, blocked(INSTANCE, "ProviderIDMismatch", f"{text}; {way}"), ready=False)
    named = {"providerID": provider_id(seen, status["instanceID"])} if active and not known else {}
    changes = apart(INSTANCE, (*adopted(server, seen.obj), *_changes(seen, server)))
    fields = {name: status.get(name) or FIELDS[name] for name in ("instanceID", "instanceState", "addresses")}
    zone = server["spec"].get("availabilityZone") or ""
    provisioned = ready or bool((seen.status.get("initialization") or {}).get("provisioned"))
    return Plan(
        (*completed(KIND, seen.obj, named), *changes),
        _conditions(server),
        {
            **fields,
            "ready": ready,
            "initialization": {"provisioned": True} if provisioned else {},
            "failureDomain": zone,
        },
    )


def _names(known: Any, server_id: Any) -> bool:
    """Whether a providerID names this server; the region is ignored."""
    return bool(str(known).rsplit("/", 1)[-1] == server_id)


def _conditions(server: Object) -> tuple[Condition, ...]:
    """The server's conditions; the cause of a wait before an instance exists is also used for InstanceReady."""
    ready, instance = find(server, READY), find(server, INSTANCE)
    if ready is None:
        stage = waiting_for(INSTANCE, f"OpenStackServer {server['metadata']['name']} to be processed")
        return summary([stage]), stage
    same = SameAs(SERVER_KIND, key_of(server))
    return copied(ready), copied(instance or ready, INSTANCE, same)


def _left(seen: Observed) -> tuple[Warn, ...]:
    """A warning about the server of a restored machine if no OpenStackServer adopted it.

    No warning is needed if the status names the server: an OpenStackServer created it, and has deleted it.
    """
    known, was = seen.spec.get("providerID"), seen.status.get("initialization") or {}
    if not known or was.get("provisioned") or _names(known, seen.status.get("instanceID")):
        return ()
    return (Warn(seen.obj, "LeftBehind", f"Left in the cloud if it exists, because no object adopted it: {known}"),)


def _leave(seen: Observed) -> Plan:
    if not has_finalizer(seen.obj):
        return Plan()
    server = _own(seen)
    if server is None:
        return Plan((*_left(seen), Finalizer(KIND, seen.obj, False)))
    removal = () if is_deleting(server) else (Delete(SERVER_KIND, key_of(server)),)
    actions = apart(DELETED, (*_changes(seen, server), *removal))
    ready = find(server)
    stage = waiting_for(DELETED, f"OpenStackServer {server['metadata']['name']}", reason="Deleting", gone=True)
    if ready and is_deleting(server) and ready["status"] != "True":
        stage = copied(ready, DELETED, SameAs(SERVER_KIND, key_of(server)))
    instance = (server.get("status") or {}).get("instanceID") or seen.status.get("instanceID") or ""
    return _report(seen, stage, actions, None, ready=False, instanceID=instance)
