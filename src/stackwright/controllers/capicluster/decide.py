"""(cluster, its resources in the cloud) → Plan. Pure.

Names in the spec are resolved and recorded. Then network, subnet, router and its interface, security groups with their
rules, and floating IPs are created one by one, each recorded before the next is created. Then machines can be created;
the bastion is independent. The cluster is deleted when no machine is left.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from typing import Any, NamedTuple

from stackwright.controllers.capicluster import endpoint, stages
from stackwright.controllers.capicluster.bastion import bastion
from stackwright.controllers.capicluster.deletion import plan_deletion
from stackwright.controllers.capicluster.objects import Wanted, attached, named_addresses, parts, wanted
from stackwright.controllers.capicluster.observe import KIND, Observed
from stackwright.controllers.capicluster.record import API, BASTION, SUBNET
from stackwright.controllers.capicluster.stages import (
    BASTION_READY,
    ENDPOINT_READY,
    GROUPS_READY,
    NETWORK_READY,
    ROUTER_READY,
    report,
    stage_of,
    stopped,
)
from stackwright.controllers.infra.clusterapi import is_managed_elsewhere
from stackwright.controllers.infra.drift import corrections, unmanaged_rules
from stackwright.controllers.infra.drift import with_event as set_back
from stackwright.controllers.infra.managed_resources import (
    DesiredResource,
    Owner,
    Progress,
    Record,
    plan_next,
    record_of,
    written,
)
from stackwright.controllers.infra.teardown import POLL
from stackwright.core.conditions import Condition, blocked, copied, done, find, waiting
from stackwright.core.objects import is_deleting
from stackwright.core.openstack.calls import CloudCall
from stackwright.core.openstack.resources import ProjectView, ResourceKey
from stackwright.core.plan import Action, Plan, apart

DRIFT = 60.0
UNMARKED = {"description": ""}


class _Api(NamedTuple):
    """conditions  of the endpoint, while another stage is incomplete"""

    conditions: tuple[Condition, ...]
    actions: tuple[Action, ...]


def decide(seen: Observed) -> Plan:
    if is_deleting(seen.obj):
        return plan_deletion(seen)
    if is_managed_elsewhere(seen.obj):
        return Plan()  # another system writes its status
    if seen.errors:
        return report(seen, (blocked(NETWORK_READY, "InvalidSpec", "; ".join(seen.errors)),))
    if seen.failure:
        return report(seen, (seen.failure,), requeue=seen.after or POLL)
    if not seen.is_guarded:
        stage = waiting(NETWORK_READY, "Looking up names", "Applying")
        return report(seen, (stage,), (seen.guarded(KIND),), 0.0)
    if seen.found is None or seen.found.names is None:
        problems = "; ".join(seen.found.problems) if seen.found else ""
        stage = waiting(NETWORK_READY, problems or "Looking up names", "DependencyFailed")
        return report(seen, (stage,), requeue=POLL)
    if any(seen.status.get(name) != value for name, value in seen.found.names.items()):
        stage = waiting(NETWORK_READY, "Creating resources", "Applying")
        return report(seen, (stage,), requeue=0.0, **seen.found.names)
    return _make(seen)


def _make(seen: Observed) -> Plan:
    """Creates resources after the resolved names are recorded."""
    assert seen.cloud is not None
    assert seen.view is not None
    owner, want, record = Owner(seen.cloud, seen.identity), wanted(seen), record_of(seen.status)
    found, address = _next(owner, list(parts(want)), record, seen.view)
    api = _api(seen, owner, found)
    if due := _released(seen, record):
        calls = tuple(owner.call("update", s, id=record[s], body=UNMARKED, why="kept for the user") for s in due)
        left = {key: id_ for key, id_ in record.items() if key not in due}
        stage = waiting(stage_of(due[0]), "Removing our mark", "Applying")
        return report(seen, (*api.conditions, stage), (*calls, *api.actions), 0.0, **written(left))
    if found.missing:
        return _lost(seen, found, api)
    if found.complete:
        return _running(seen, owner, want, found, api, address)
    return _progress(seen, want, found, api, address)


def _next(
    owner: Owner, every: list[DesiredResource], record: Record, view: ProjectView
) -> tuple[Progress, tuple[CloudCall, ...]]:
    """The next step, and apart from it the creation of the bastion's floating IP, which no other part waits for."""
    found = plan_next(owner, every, record, view)
    if not (found.calls and all(map(_is_bastion, found.calls))):
        return found, ()
    others = plan_next(owner, [part for part in every if part.resource_key != BASTION], record, view)
    return replace(others, record={**others.record, BASTION: found.record[BASTION]}), found.calls


def _is_bastion(call: CloudCall) -> bool:
    """Whether it creates the bastion's floating IP."""
    return call.do == "create" and call.resource_key == BASTION


def _api(seen: Observed, owner: Owner, found: Progress) -> _Api:
    """Attaches the API's floating IP to a ready machine, which waits for no other resource of the cluster."""
    status = _known(seen, found)
    held = endpoint.held(seen, status)
    calls = () if held else endpoint.attach_endpoint(seen, owner, status)
    return _Api(endpoint.unfinished(seen, status, held), apart(ENDPOINT_READY, calls))


def _known(seen: Observed, found: Progress) -> dict[str, Any]:
    """The status with the present facts of the resources."""
    return {**stages.FIELDS, **seen.status, **stages.facts(seen, found)}


def _released(seen: Observed, record: Record) -> list[ResourceKey]:
    """Floating IPs of ours that the spec names: they become the user's. Without our mark they outlive the cluster."""
    assert seen.view is not None
    things = {key: seen.view.get(key, record[key]) for key in (API, BASTION) if key in record}
    named = named_addresses(seen.spec)
    return [key for key, thing in things.items() if thing and thing.facts.get("floating_ip_address") in named]


def _progress(seen: Observed, want: Wanted, found: Progress, api: _Api, address: tuple[CloudCall, ...]) -> Plan:
    if found.calls:
        (what, name), doing = found.calls[0].resource_key, "Creating" if found.calls[0].do == "create" else "Deleting"
        stage = waiting(stage_of((what, name)), f"{doing} {what} {name}", "Applying")
    else:
        first = next((part.resource_key for part in parts(want) if part.resource_key not in found.record), SUBNET)
        blocks = blocked(stage_of(first), "ResourceAmbiguous", found.note)
        stage = blocks if found.originals else waiting(stage_of(first), found.wait)
    conditions = (*stopped(stage), *(each for each in api.conditions if each.type != stage.type))
    actions = (*api.actions, *apart(stage.type, found.calls), *apart(BASTION_READY, address))
    return report(seen, conditions, actions, 0.0 if found.calls else POLL, **written(found.record))


def _lost(seen: Observed, found: Progress, api: _Api) -> Plan:
    """Recreates lost rules always, because they are only configuration, other resources if spec.recreatePolicy
    allows it.
    """
    things = [key for key in found.missing if key[0] != "security-group-rule"]
    if not things or seen.spec.get("recreatePolicy") == "Always":
        left = {key: id_ for key, id_ in found.record.items() if key not in found.missing}
        stage = waiting(stage_of(found.missing[0]), "Recreating resources that another client deleted", "Applying")
        return report(seen, (*api.conditions, stage), api.actions, 0.0, **written(left))
    names = ", ".join(f"{what} {name}" for what, name in things)
    text = f"Another client deleted {names}; set spec.recreatePolicy to Always to recreate it"
    stage = blocked(stage_of(things[0]), "ResourceNotFound", f"{text}, or delete this object")
    return report(seen, (*api.conditions, stage), api.actions, DRIFT, ready=False)


def _running(
    seen: Observed, owner: Owner, want: Wanted, found: Progress, api: _Api, address: tuple[CloudCall, ...]
) -> Plan:
    assert seen.view is not None
    status = _known(seen, found)
    rules = set_back(seen.obj, unmanaged_rules(owner, found, seen.view), stage_of)
    if attach := attached(owner, want, found):
        stage = waiting(ROUTER_READY, "Attaching the subnet to the router", "Applying")
        asked = find(seen.obj, ROUTER_READY)
        requeue = POLL if asked and copied(asked) == stage else 0.0  # the last request may not have changed the port
        conditions = (*stopped(stage), done(GROUPS_READY), *api.conditions)
        actions = (*apart(ROUTER_READY, attach), *api.actions, *rules, *apart(BASTION_READY, address))
        return report(seen, conditions, actions, requeue, **written(found.record), **_given(status))
    held = endpoint.held(seen, status)
    where = endpoint.endpoint(seen, status, held)
    stage, before = endpoint.stage(seen, status, where, want.lost, held), bastion(seen, owner, status)
    if held:
        status = {**status, "apiServerFloatingIP": {}}
    provisioned = bool(where) or bool((seen.status.get("initialization") or {}).get("provisioned"))
    actions = (
        *api.actions,
        *apart(ENDPOINT_READY, endpoint.written_endpoint(seen, where)),
        *rules,
        *set_back(seen.obj, corrections(owner, parts(want), found), stage_of),
        *apart(BASTION_READY, (*before.actions, *address)),
    )
    last = waiting(BASTION_READY, "Creating floating-ip bastion", "Applying") if address else before.condition
    return report(
        seen,
        (done(NETWORK_READY, found.note), *(done(type_) for type_ in stages.STAGES[1:3]), stage, last),
        actions,
        0.0 if address else DRIFT if stage.status and last.status else POLL,
        **written(found.record),
        **_given(status),
        ready=bool(stage.status),
        initialization={"provisioned": True} if provisioned else {},
        controlPlaneEndpoint=where,
        bastion=dict(before.status),
    )


def _given(status: Mapping[str, Any]) -> dict[str, Any]:
    """The status fields that describe resources."""
    ours = ("ready", "initialization", "controlPlaneEndpoint", "bastion", "resources", "project")
    return {name: status[name] for name in stages.FIELDS if name not in ours}
