"""The bastion: an OpenStackServer like that of a machine, replaced when an immutable field changes. Pure.

The floating IP does not belong to the server: it is kept for the next bastion. A user's floating IP is never deleted.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

from stackwright.controllers.capicluster.endpoint import first_port, ports_of
from stackwright.controllers.capicluster.objects import has_bastion
from stackwright.controllers.capicluster.observe import Observed
from stackwright.controllers.capicluster.record import BASTION
from stackwright.controllers.capicluster.stages import BASTION_READY
from stackwright.controllers.infra.addresses import is_of, why_unusable
from stackwright.controllers.infra.clusterapi import cluster_name
from stackwright.controllers.infra.managed_resources import Owner, record_of
from stackwright.controllers.infra.server_template import (
    MADE_OF,
    SERVER_KIND,
    adopted,
    cluster_defaults,
    lacks_network,
    propagated,
    server_object,
    server_spec,
)
from stackwright.core.conditions import Condition, SameAs, blocked, copied, done, find, waiting, waiting_for
from stackwright.core.objects import annotation, is_deleting, key_of
from stackwright.core.openstack.resources import CloudResource
from stackwright.core.plan import Action, Apply, Delete, Object


@dataclass(frozen=True)
class Outcome:
    condition: Condition
    actions: tuple[Action, ...] = ()
    status: Mapping[str, Any] = field(default_factory=dict)


def bastion(seen: Observed, owner: Owner, status: Mapping[str, Any]) -> Outcome:
    """The bastion's actions, condition and status; `status` contains the new fields of the cluster's status."""
    server = seen.bastion
    if not has_bastion(seen.spec):
        return (
            Outcome(done(BASTION_READY, "The cluster has no bastion", "NotWanted"))
            if server is None
            else gone(seen, server)
        )
    place = cluster_defaults(seen.spec, status, "bastionSecurityGroup")
    machine = as_machine(seen)
    if lacks_network(machine, place):
        text = "The cluster has no network; set spec.bastion.spec.ports, with a network each"
        return Outcome(blocked(BASTION_READY, "NoNetwork", text))
    spec = server_spec(machine, place, availabilityZone=seen.spec["bastion"].get("availabilityZone"))
    desired = server_object((key_of(seen.obj)[0], seen.bastion_name), seen.obj, spec, cluster_name(seen.obj))
    if server is None:
        return _made(seen, desired)
    if is_deleting(server) or annotation(server, MADE_OF) != annotation(desired, MADE_OF):
        return gone(seen, server)
    changes = adopted(server, seen.obj) or propagated(server, seen.obj, machine, seen.spec["identityRef"])
    outcome = _there(seen, owner, server)
    return Outcome(outcome.condition, (*changes, *outcome.actions), outcome.status)


def as_machine(seen: Observed) -> dict[str, Any]:
    """The bastion's spec as a machine; the cluster's policies for lost resources apply to it too."""
    machine = dict((seen.spec.get("bastion") or {}).get("spec") or {})
    policies = {"recreatePolicy": "Never", "credentialsLostPolicy": "Wait"}
    said = {name: seen.spec[name] for name, default in policies.items() if seen.spec.get(name) not in (None, default)}
    return {**policies, **machine, **said}


def removed(seen: Observed, server: Object) -> tuple[Action, ...]:
    """The deletion of the bastion. If the cluster stays, its server does not stay in the cloud, where it would use the
    cluster's security group, unless the credentials are lost.
    """
    machine = as_machine(seen)
    if machine["credentialsLostPolicy"] == "Orphan" and not is_deleting(seen.obj):
        machine["credentialsLostPolicy"] = "Detach"
    changes = propagated(server, seen.obj, machine, seen.spec.get("identityRef"))
    return changes if is_deleting(server) else (*changes, Delete(SERVER_KIND, key_of(server)))


def _made(seen: Observed, desired: Object) -> Outcome:
    if seen.bastion_name in seen.servers:
        text = f"OpenStackServer {seen.bastion_name} exists and does not belong to this cluster; delete it"
        return Outcome(blocked(BASTION_READY, "NameTaken", text))
    stage = waiting(BASTION_READY, f"Creating OpenStackServer {seen.bastion_name}", "Applying")
    return Outcome(stage, (Apply(SERVER_KIND, desired, "absent"),))


def gone(seen: Observed, server: Object) -> Outcome:
    """The deletion of the bastion, with the cause of a wait."""
    ready = find(server)
    cause, reason = "", "Deleting"
    if is_deleting(server) and ready and ready["status"] != "True":
        cause, reason = ready["message"], ready["reason"]
    wait = waiting_for(BASTION_READY, f"OpenStackServer {seen.bastion_name}", cause, reason, gone=True)
    return Outcome(wait, removed(seen, server), _status(server))


def _there(seen: Observed, owner: Owner, server: Object) -> Outcome:
    status, ready = server.get("status") or {}, find(server)
    if not status.get("ready") or not ready:
        wait = waiting_for(BASTION_READY, f"OpenStackServer {seen.bastion_name}")
        if ready and ready["status"] != "True":
            wait = copied(ready, BASTION_READY, SameAs(SERVER_KIND, key_of(server)))
        return Outcome(wait, (), _status(server))
    address, port, lacking = _address(seen), first_port(server), seen.found.lacking if seen.found else ()
    if address is None and _knows_addresses(seen) and seen.spec["bastion"].get("floatingIP"):
        lacking = lacking or ("spec.bastion.floatingIP: not a floating IP of this project",)
    if lacking:
        return Outcome(waiting(BASTION_READY, "; ".join(lacking), "DependencyFailed"), (), _status(server))
    if address is None:
        before = (seen.status.get("bastion") or {}).get("floatingIP", "")
        return Outcome(done(BASTION_READY), (), _status(server, "" if _knows_addresses(seen) else before))
    made = is_of(address, seen.identity, record_of(seen.status))
    if why := why_unusable(address, made, {*ports_of(server)}, "bastion"):
        text = f"{why}, or set another one in spec.bastion.floatingIP"
        return Outcome(waiting(BASTION_READY, text, "AddressInUse"), (), _status(server))
    fields = _status(server, str(address.facts.get("floating_ip_address") or ""))
    if not port or address.facts.get("port_id", port) == port:
        return Outcome(done(BASTION_READY), (), fields)
    call = owner.call("update", BASTION, id=address.id, body={"port_id": port}, why="attached to the bastion")
    return Outcome(done(BASTION_READY), (call,), fields)


def _knows_addresses(seen: Observed) -> bool:
    return seen.view is not None and "floating-ip" not in seen.view.unlisted_types


def _address(seen: Observed) -> CloudResource | None:
    """The floating IP of the bastion, a user's or ours, from the project view."""
    given = seen.found.addresses.get("bastion") if seen.found else None
    id_ = given.id if given else record_of(seen.status).get(BASTION, "")
    return seen.view.get(BASTION, id_) if seen.view and id_ else None


def _status(server: Object, floating: str = "") -> dict[str, Any]:
    status = server.get("status") or {}
    inside = [each["address"] for each in status.get("addresses") or () if each["type"] == "InternalIP"]
    fields = {
        "id": status.get("instanceID"),
        "name": server["metadata"]["name"],
        "sshKeyName": server["spec"].get("sshKeyName"),
        "state": status.get("instanceState"),
        "ip": inside[0] if inside else "",
        "floatingIP": floating,
    }
    return {name: value for name, value in fields.items() if value}
