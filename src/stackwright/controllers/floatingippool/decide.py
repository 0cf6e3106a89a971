"""(pool, its claims, its floating IPs) → Plan. Pure.

A floating IP is in use while any IPAddress of the namespace names it, so two claims never get the same one. A floating
IP attached to a port is assigned only to the claim of the server with that port. Free floating IPs are assigned to the
oldest claims: first the user's, then the pool's own, then new ones, which are created one by one.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from itertools import islice
from typing import Any

from stackwright.controllers.floatingippool.assignment import (
    MAX_REACHED,
    allowed,
    assigned,
    beyond,
    deleted_duplicates,
    exhausted,
    name_taken,
    servable,
    updates,
)
from stackwright.controllers.floatingippool.deletion import plan_deletion
from stackwright.controllers.floatingippool.inventory import Inventory, inventory, kept, unusable_causes
from stackwright.controllers.floatingippool.objects import FIELDS, adoptable, part
from stackwright.controllers.floatingippool.observe import KIND, Observed
from stackwright.controllers.infra.cloud_observation import AUTHENTICATION, project
from stackwright.controllers.infra.clusterapi import CLAIM
from stackwright.controllers.infra.managed_resources import Owner, Progress, plan_next, record_of, written
from stackwright.controllers.infra.report import keeping_fields
from stackwright.core.conditions import Condition, blocked, done, waiting
from stackwright.core.objects import is_deleting
from stackwright.core.openstack.calls import CloudCall
from stackwright.core.openstack.resources import ResourceKey
from stackwright.core.plan import Action, Apply, Plan, apart

ADDRESSES = "AddressesReady"
POLL = 10.0  # seconds; claims are polled, not watched
SPARE = 50  # maximum number of floating IPs beyond one per claim, because some may be unusable


def decide(seen: Observed) -> Plan:
    if is_deleting(seen.obj):
        return plan_deletion(seen)
    if seen.errors:
        return _report(seen, blocked(ADDRESSES, "InvalidSpec", "; ".join(seen.errors)))
    if seen.claims is None:
        text = f"{CLAIM.kind} of {CLAIM.group} is not installed; Cluster API installs it"
        return _report(seen, waiting(ADDRESSES, text, "KindMissing"))
    if seen.failure:
        return _report(seen, seen.failure, requeue=seen.after or POLL)
    if not seen.is_guarded:
        stage = waiting(ADDRESSES, "Looking up the network", "Applying")
        return _report(seen, stage, (seen.guarded(KIND),), 0.0)
    if not seen.found.network:
        text = "; ".join(seen.found.problems) or "Looking up the network"
        return _report(seen, waiting(ADDRESSES, text, "DependencyFailed"))
    return _serve(seen)


def _report(
    seen: Observed, stage: Condition, actions: tuple[Action, ...] = (), requeue: float = POLL, **status: Any
) -> Plan:
    """Status fields that are not passed keep their values."""
    ahead = (done(AUTHENTICATION),) if seen.view and stage.type != AUTHENTICATION else ()
    status["project"] = project(seen, record_of(seen.status))
    return keeping_fields(seen.status, FIELDS, [*ahead, stage], actions, requeue, **status)


def _serve(seen: Observed) -> Plan:
    assert seen.cloud is not None
    assert seen.view is not None
    if "floating-ip" in seen.view.unlisted_types:
        return Plan(apart(ADDRESSES, updates(seen, {})), requeue=POLL)  # as often as claims are polled
    recorded = record_of(seen.status)
    new = adoptable(seen, recorded, seen.view)
    has = inventory(seen, {**recorded, **dict(islice(new.items(), _space(seen, recorded)))})
    claims, free = servable(seen), has.free(seen.taken)
    due = assigned(seen, claims, has, free)
    used = {*seen.taken, *due.values()}
    lacking = len(claims) > len(due)
    futile = _futile(seen, has) if lacking else ""
    parts = [part(key, seen) for key in kept(seen, has, used, lacking and not futile)]
    found = plan_next(Owner(seen.cloud, seen.identity), parts, has.record, seen.view)
    actions = apart(ADDRESSES, (*found.calls, *updates(seen, due), *deleted_duplicates(seen, has)))
    claimed = {str(each["spec"]["address"]) for each in seen.addresses}
    lost = sorted(claimed - set(seen.found.given) - set(has.keys)) if seen.view.settled else []
    unusable = {*(seen.spec.get("preAllocatedFloatingIPs") or ())} - {*free, *used}
    unused = [*unusable_causes(has, unusable), *_surplus(len(recorded) + len(new) - len(has.record))]
    return _report(
        seen,
        _stage(seen, found, lost, futile, "; ".join(unused)),
        actions,
        0.0 if any(isinstance(action, CloudCall | Apply) for action in actions) or found.missing else POLL,
        claimedIPs=sorted({*claimed, *due.values()} - set(lost)),
        availableIPs=sorted(set(free) - set(due.values())),
        failedIPs=sorted({*lost, *unusable}),
        floatingIPNetwork=dict(seen.found.network),
        **written({key: id_ for key, id_ in found.record.items() if key not in found.missing}),
    )


def _space(seen: Observed, record: Mapping[ResourceKey, str]) -> int:
    """Number of further floating IPs that the pool may have."""
    return max(0, len(seen.addresses) + len(allowed(seen)) + SPARE - len(record))


def _surplus(more: int) -> list[str]:
    text = f"{more} more floating IPs have the pool's mark; the pool keeps at most {SPARE} beyond its claims"
    return [text] if more else []


def _futile(seen: Observed, has: Inventory) -> str:
    """Why no floating IP is created although a claim lacks one: a new one would be unusable as well; else empty."""
    for address, ids in has.ids.items():
        if len(ids) > 1:
            return f"Floating IPs {' and '.join(ids)} have the same address, {address}; delete one of them in the cloud"
    if _space(seen, has.record):
        return ""
    return f"All {len(has.record)} floating IPs of the pool are in use by ports or other pools; detach or delete some"


def _stage(seen: Observed, found: Progress, lost: list[str], futile: str, unused: str) -> Condition:
    """The condition. `futile` is why no further floating IP is created, `unused` names unusable ones with the cause."""
    names = ", ".join(each["metadata"]["name"] for each in beyond(seen))
    if lost:
        text = f"Another client deleted floating IP {', '.join(lost)}; delete the claims that use them"
        return blocked(ADDRESSES, "ResourceNotFound", text)
    if found.wait:
        return (
            blocked(ADDRESSES, "ResourceAmbiguous", found.note) if found.originals else waiting(ADDRESSES, found.wait)
        )
    if any(call.do == "create" for call in found.calls):
        return waiting(ADDRESSES, "; ".join(filter(None, ("Creating a floating IP", unused))), "Applying")
    if futile:
        return blocked(ADDRESSES, "AddressesOfNoUse", futile)
    if names:
        return waiting(ADDRESSES, f"{exhausted(seen)}; not served: {names}", MAX_REACHED)
    if seen.foreign:
        return replace(name_taken(seen, min(seen.foreign)), type=ADDRESSES)
    return done(ADDRESSES, "; ".join(filter(None, (unused, found.note))))
