"""Deletion of a pool: blocked while a claim or a port uses one of its addresses; retained floating IPs stay. Pure."""

from __future__ import annotations

from collections.abc import Collection

from stackwright.api.fields.mark import prefix_of
from stackwright.controllers.floatingippool.objects import FIELDS, is_stale
from stackwright.controllers.floatingippool.observe import KIND, Observed
from stackwright.controllers.infra import teardown
from stackwright.controllers.infra.clusterapi import ADDRESS, CLAIM
from stackwright.controllers.infra.managed_resources import record_of, written
from stackwright.core.conditions import waiting, waiting_for
from stackwright.core.objects import has_finalizer, key_of
from stackwright.core.openstack.resources import marked_by
from stackwright.core.plan import Delete, Finalizer, Plan, Warn

SHOWN = 20  # ids in an Event, whose message is limited to 1024 characters


def _used(seen: Observed, given: Collection[str]) -> dict[str, str]:
    """Address created by the pool → the port it is attached to."""
    facts = [thing.facts for thing in seen.view.things] if seen.view else []
    found = {str(each.get("floating_ip_address")): str(each["port_id"]) for each in facts if each.get("port_id")}
    return {ip: port for ip, port in found.items() if ip not in given}


def plan_deletion(seen: Observed) -> Plan:
    record = record_of(seen.status)
    if seen.addresses:
        stale = tuple(Delete(ADDRESS, key_of(each)) for each in seen.addresses if is_stale(seen, each))
        names = ", ".join(each["metadata"]["name"] for each in seen.addresses)
        stage = waiting_for(teardown.DELETED, f"{CLAIM.kind} {names}", reason="InUse", gone=True)
        return teardown.deletion_plan(stage, {name: seen.status[name] for name in FIELDS if name in seen.status}, stale)
    if seen.spec.get("reclaimPolicy") == "Delete" or not has_finalizer(seen.obj):
        given = seen.spec.get("preAllocatedFloatingIPs") or ()
        out = "spec.reclaimPolicy to Retain"
        if used := _used(seen, given):
            text = "; ".join(f"floating IP {ip} is attached to port {port}" for ip, port in used.items())
            stage = waiting(teardown.DELETED, f"Not deleted: {text}; detach it, or set {out}", "InUse")
            return teardown.deletion_plan(stage, {name: seen.status[name] for name in FIELDS if name in seen.status})
        return teardown.tear_down(KIND, seen, record, written, keeps=given, out=out)
    left = _left(seen, tuple(record.values()))
    warning = (Warn(seen.obj, "LeftBehind", f"Left in the cloud: floating IPs {left}"),) if left else ()
    return Plan((*warning, Finalizer(KIND, seen.obj, False)))


def _left(seen: Observed, recorded: Collection[str]) -> str:
    """Ids of the retained floating IPs; if they are too many for an Event, also the number of the others and the mark.

    A restored pool has recorded only the floating IPs that it needs, but all of them have its mark.
    """
    things = seen.view.things if seen.view else ()
    marked = (each.id for each in things if each.type == "floating-ip" and marked_by(each, seen.identity))
    ids = tuple(dict.fromkeys((*recorded, *marked)))
    more = f" and {len(ids) - SHOWN} more; the description of each has {prefix_of(seen.identity)}"
    return ", ".join(ids[:SHOWN]) + (more if len(ids) > SHOWN else "")
