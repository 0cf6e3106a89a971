"""Builds a pool's floating IPs, and the IPAddress that assigns one to a claim. Pure."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from itertools import count
from typing import Any

from stackwright.api.infra.ports import TEXT
from stackwright.controllers.floatingippool.observe import KIND, Observed
from stackwright.controllers.infra.clusterapi import ADDRESS, CLAIM, of_cluster
from stackwright.controllers.infra.managed_resources import DesiredResource
from stackwright.core.conditions import Condition, copied, find, merged, stamp
from stackwright.core.objects import (
    OWNER,
    belongs,
    is_deleting,
    key_of,
    label,
    owned,
    owner_label,
    owner_reference,
    shortened,
)
from stackwright.core.openstack.resources import CloudResource, ProjectView, ResourceKey, mark, marked_by
from stackwright.core.plan import Object, SetStatus

GROUP = KIND.group
FIELDS: Mapping[str, Any] = {
    "claimedIPs": [], "availableIPs": [], "failedIPs": [], "floatingIPNetwork": {}, "resources": [],
    "project": "",
}  # fmt: skip


def part(resource_key: ResourceKey, seen: Observed) -> DesiredResource:
    text = shortened(f"Pool {'/'.join(key_of(seen.obj))}", TEXT)
    body = {"floating_network_id": seen.found.network["id"], "description": text}
    return DesiredResource(resource_key, lambda _: body)


def adoptable(seen: Observed, record: Mapping[ResourceKey, str], view: ProjectView) -> dict[ResourceKey, str]:
    """Marked floating IPs that are not recorded, created by a crashed process or before the pool was restored.

    The number in the resource key cannot be derived from the mark, so the id of the floating IP becomes the name in its
    key. Floating IPs in use are first, then free ones.
    """
    marks, ids = {mark(seen.identity, resource_key) for resource_key in record}, {*record.values()}
    used = {str(each["spec"]["address"]) for each in seen.addresses}.union(*seen.ports.values())

    def rank(thing: CloudResource) -> tuple[bool, bool, str]:
        address, port = thing.facts.get("floating_ip_address"), thing.facts.get("port_id")
        return address not in used and port not in used, bool(port), thing.id

    ours = (t for t in view.things if t.type == "floating-ip" and marked_by(t, seen.identity))
    new = (t for t in ours if t.id not in ids and t.mark not in marks)
    return {("floating-ip", thing.id): thing.id for thing in sorted(new, key=rank)}


def unused(uid: str, record: Mapping[ResourceKey, Any], view: ProjectView) -> ResourceKey:
    """The resource key with the first number that is neither recorded nor used in a mark."""
    marks = {thing.mark for thing in view.things}
    keys: Iterator[ResourceKey] = (("floating-ip", str(n)) for n in count())
    return next(key for key in keys if key not in record and mark(uid, key) not in marks)


def ip_address(seen: Observed, claim: Object, address: str) -> Object:
    """The IPAddress, owned by its claim and, as Cluster API's contract requires, by its pool."""
    pool = {"apiGroup": GROUP, "kind": KIND.kind, "name": seen.obj["metadata"]["name"]}
    spec = {"address": address, "prefix": 32, "claimRef": {"name": claim["metadata"]["name"]}, "poolRef": pool}
    obj = owned(ADDRESS, key_of(claim), seen.obj, spec, of_cluster(claim))
    owners = [owner_reference(claim), {**owner_reference(seen.obj), "controller": False}]
    return {**obj, "metadata": {**obj["metadata"], "ownerReferences": owners}}


def claim_status(claim: Object, ready: Condition, now: float, address: str = "") -> tuple[SetStatus, ...]:
    """The update of the claim's status with IPAddress and condition (v1beta1 of Cluster API); empty if it is up to
    date.
    """
    status = claim.get("status") or {}
    named, before = (status.get("addressRef") or {}).get("name", ""), find(claim)
    if named == address and (copied(before) == ready if before else ready.status):
        return ()
    (entry,) = merged([ready], status.get("conditions") or (), 0, stamp(now))
    del entry["observedGeneration"]
    condition = {name: value for name, value in entry.items() if value}  # a message must be absent or not empty
    return (
        SetStatus(CLAIM, claim, {**({"addressRef": {"name": address}} if address else {}), "conditions": [condition]}),
    )


def is_restored(seen: Observed, address: Object) -> bool:
    """Whether the IPAddress was created for this pool before the pool got its present UID.

    The reference to the claim is not checked: Kubernetes removes it when the claim is deleted, although the pool stays.
    """
    return label(address, OWNER) == owner_label(seen.obj) and not belongs(address, seen.obj["metadata"]["uid"])


def is_stale(seen: Observed, address: Object) -> bool:
    """Whether the claim of an IPAddress was deleted or replaced.

    A restored IPAddress is not stale, because its claim may be restored later. One of a paused cluster is not stale
    either, because `clusterctl move` deletes the claims after it has copied them.
    """
    if is_restored(seen, address) or address["metadata"]["name"] in seen.held:
        return False
    claims = {each["metadata"]["name"]: each for each in seen.claims or ()}
    claim = claims.get(address["metadata"]["name"])
    return claim is None or is_deleting(claim) or not belongs(address, claim["metadata"]["uid"])
