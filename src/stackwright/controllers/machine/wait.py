"""Reasons why a machine's server cannot be created yet. Pure."""

from __future__ import annotations

from stackwright.controllers.infra.clusterapi import MACHINE, owner_named
from stackwright.controllers.infra.clusterapi import NAME as CLUSTER_NAME
from stackwright.controllers.infra.server_template import INSTANCE, lacks_network
from stackwright.controllers.machine.objects import bootstrap_secret, place
from stackwright.controllers.machine.observe import Observed
from stackwright.core.conditions import Condition, blocked, waiting, waiting_for, why_not_ready
from stackwright.core.objects import is_deleting, label

BOOTSTRAP = "WaitingForBootstrapData"


def reason_to_wait(seen: Observed) -> Condition | None:
    return _name(seen) or _cluster(seen) or _bootstrap(seen) or _network(seen)


def _name(seen: Observed) -> Condition | None:
    """A server of this name that belongs to another object: wait if the object is an earlier one, otherwise block."""
    if seen.server is None:
        return None
    meta = seen.server["metadata"]
    owners = meta.get("ownerReferences") or ()
    earlier = any((each["kind"], each["name"]) == (seen.obj["kind"], meta["name"]) for each in owners)
    if earlier or is_deleting(seen.server):
        return waiting_for(INSTANCE, f"an earlier OpenStackServer {meta['name']}", reason="NameTaken", gone=True)
    whose = ", ".join(f"{each['kind']} {each['name']}" for each in owners) or "nobody"
    text = f"OpenStackServer {meta['name']} already exists and belongs to {whose}; delete it, or this object"
    return blocked(INSTANCE, "NameTaken", text)


def _cluster(seen: Observed) -> Condition | None:
    reason = "WaitingForClusterInfrastructure"
    if not seen.named:
        name = label(seen.obj, CLUSTER_NAME)
        text = f"Cluster {name} names no OpenStackCluster" if name else f"The label {CLUSTER_NAME} names no cluster"
        return waiting(INSTANCE, text, reason)
    cluster = f"OpenStackCluster {seen.named}"
    if seen.cluster is None:
        return waiting_for(INSTANCE, cluster, "it does not exist", reason)
    if is_deleting(seen.cluster):
        return waiting_for(INSTANCE, cluster, "it is being deleted", reason)
    if seen.cluster_errors:  # its status may still be that of an earlier spec
        return waiting_for(INSTANCE, cluster, f"its spec is not valid: {'; '.join(seen.cluster_errors)}", reason)
    if not (seen.cluster.get("status") or {}).get("ready"):
        return waiting_for(INSTANCE, cluster, why_not_ready(seen.cluster), reason)
    return None


def _bootstrap(seen: Observed) -> Condition | None:
    """With a Cluster of Cluster API, a Machine owns this machine and names its bootstrap data."""
    owner = owner_named(seen.obj, MACHINE)
    if seen.top is None and not owner:
        return None
    if seen.machine is None:
        machine = f"Machine {owner}" if owner else "a Machine that owns this object"
        return waiting_for(INSTANCE, machine, reason=BOOTSTRAP)
    if not bootstrap_secret(seen):
        return waiting(INSTANCE, f"Waiting for the bootstrap data of Machine {owner}", BOOTSTRAP)
    return None


def _network(seen: Observed) -> Condition | None:
    if not lacks_network(seen.spec, place(seen)):
        return None
    text = (
        f"OpenStackCluster {seen.named} has no network; set spec.ports of this object with a network each, "
        "or managedSubnets, network or subnets of the cluster"
    )
    return blocked(INSTANCE, "NoNetwork", text)
