"""The stages of a cluster as conditions, and the fields of its status. Pure."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from stackwright.controllers.capicluster.observe import Observed
from stackwright.controllers.capicluster.record import API, BASTION, GROUPS, NETWORK, ROUTER, SUBNET, group
from stackwright.controllers.capicluster.resolve import router, subnet
from stackwright.controllers.infra.cloud_observation import AUTHENTICATION, project
from stackwright.controllers.infra.managed_resources import Progress, record_of
from stackwright.controllers.infra.references import status_entry
from stackwright.controllers.infra.report import keeping_fields
from stackwright.core.conditions import Condition, copied, done, find, waiting
from stackwright.core.openstack.resources import ResourceKey
from stackwright.core.plan import Action, Plan

NETWORK_READY, ROUTER_READY, GROUPS_READY = "NetworkReady", "RouterReady", "SecurityGroupsReady"
ENDPOINT_READY, BASTION_READY = "APIEndpointReady", "BastionReady"
STAGES = (NETWORK_READY, ROUTER_READY, GROUPS_READY, ENDPOINT_READY, BASTION_READY)
_OF: Mapping[str, str] = {
    "network": NETWORK_READY,
    "subnet": NETWORK_READY,
    "router": ROUTER_READY,
    "port": ROUTER_READY,
    "security-group": GROUPS_READY,
    "security-group-rule": GROUPS_READY,
    "floating-ip": ENDPOINT_READY,
}
GROUP_FIELDS = dict(
    zip(GROUPS, ("controlPlaneSecurityGroup", "workerSecurityGroup", "bastionSecurityGroup"), strict=True)
)
FIELDS: Mapping[str, Any] = {
    "ready": False,
    "initialization": {},
    "externalNetwork": {},
    "network": {},
    "router": {},
    **{field: {} for field in GROUP_FIELDS.values()},
    "bastion": {},
    "failureDomains": [],
    "apiServerFloatingIP": {},
    "controlPlaneEndpoint": {},
    "resources": [],
    "project": "",
}


def stage_of(key: ResourceKey) -> str:
    return BASTION_READY if key == BASTION else _OF[key[0]]


def stopped(stage: Condition) -> tuple[Condition, ...]:
    """The earlier stages as done, and this one."""
    return (*(done(type_) for type_ in STAGES[: STAGES.index(stage.type)]), stage)


def report(
    seen: Observed,
    conditions: tuple[Condition, ...],
    actions: tuple[Action, ...] = (),
    requeue: float | None = None,
    **status: Any,
) -> Plan:
    """Stages and status fields that are not passed keep their values."""
    ahead = [stage for stage in conditions if stage.type not in STAGES]
    if not ahead and seen.view:
        ahead = [done(AUTHENTICATION)]
    now = {stage.type: stage for stage in conditions}
    stages = (*ahead, *(now.get(type_) or _before(seen, type_) for type_ in STAGES))
    status["project"] = project(seen, record_of(seen.status))
    return keeping_fields(seen.status, FIELDS, stages, actions, requeue, **status)


def _before(seen: Observed, type_: str) -> Condition:
    entry = find(seen.obj, type_)
    return copied(entry) if entry else early(type_)


def early(type_: str) -> Condition:
    return waiting(type_, "An earlier stage is not ready")


def facts(seen: Observed, found: Progress) -> dict[str, Any]:
    """Status fields that describe resources. Resources that were not listed keep their previous values."""
    things, fields = found.existing, dict(seen.found.names or {}) if seen.found else {}
    if NETWORK in things and SUBNET in things:
        fields["network"] = status_entry(things[NETWORK], subnets=[subnet(things[SUBNET])])
    if ROUTER in things:  # keep its addresses if another client removed its gateway
        before = seen.status.get("router") or {}
        fields["router"] = {**(before if before.get("id") == things[ROUTER].id else {}), **router(things[ROUTER])}
    for name, field in GROUP_FIELDS.items():
        if group(name) in things:
            fields[field] = {"id": things[group(name)].id, "name": things[group(name)].name}
        elif group(name) not in found.record:
            fields[field] = {}
    given = seen.found.addresses.get("api") if seen.found else None
    if api := things.get(API) or given:
        fields["apiServerFloatingIP"] = {"id": api.id, "address": str(api.facts.get("floating_ip_address") or "")}
    return {**fields, "failureDomains": domains(seen)}


def domains(seen: Observed) -> list[dict[str, Any]]:
    """Availability zones, and whether the control plane uses each: all, unless the spec names some or Nova chooses."""
    chosen = seen.spec.get("controlPlaneAvailabilityZones") or ()
    omitted = bool(seen.spec.get("controlPlaneOmitAvailabilityZone"))
    # Each OpenStack has a zone, so an empty list is wrong. New machines would get no zone.
    zones = (seen.found.zones if seen.found else ()) or [
        zone["name"] for zone in seen.status.get("failureDomains") or ()
    ]
    return [{"name": zone, "controlPlane": not omitted and (not chosen or zone in chosen)} for zone in zones]
