"""(pool, its claims, its floating IPs) → Plan. Pure.

A floating IP is in use while any IPAddress of the namespace names it, so two claims never get the same one. A floating
IP attached to a port is assigned only to the claim of the server with that port. Free floating IPs are assigned to the
oldest claims: first those given by the user, then the pool's own, then new ones, which are created one at a time.
"""

from __future__ import annotations

from collections.abc import Mapping
from itertools import islice
from typing import Any

from stackwright.controllers.floatingippool.leave import leave
from stackwright.controllers.floatingippool.objects import (
    FIELDS,
    adoptable,
    claim_status,
    ip_address,
    is_restored,
    is_stale,
    part,
    unused,
)
from stackwright.controllers.floatingippool.observe import KIND, Observed
from stackwright.controllers.infra.addresses import MARKED, UNMARK, is_of
from stackwright.controllers.infra.cloud_observation import AUTHENTICATION, project
from stackwright.controllers.infra.clusterapi import ADDRESS, CLAIM
from stackwright.controllers.infra.managed_resources import Owner, Progress, plan_next, record_of, written
from stackwright.controllers.infra.pausing import pausable
from stackwright.controllers.infra.report import keeping
from stackwright.controllers.infra.server_template import SERVER_KIND
from stackwright.core.conditions import READY, Condition, blocked, done, waiting
from stackwright.core.objects import OWNER, is_deleting, key_of, label
from stackwright.core.openstack.calls import CloudCall
from stackwright.core.openstack.resources import CloudResource, ResourceKey
from stackwright.core.plan import Action, Apply, Delete, Key, Object, Plan

ADDRESSES, MAX_REACHED = "AddressesReady", "MaxIPsReached"
GIVEN: ResourceKey = ("floating-ip", "")
POLL = 10.0  # seconds; claims are polled, not watched
SPARE = 50  # most floating IPs beyond one per claim; OpenStack decides which of them are usable


@pausable
def decide(seen: Observed) -> Plan:
    if is_deleting(seen.obj):
        return leave(seen)
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
    ahead = (done(AUTHENTICATION),) if seen.look and stage.type != AUTHENTICATION else ()
    status["project"] = project(seen, record_of(seen.status))
    return keeping(seen.status, FIELDS, [*ahead, stage], actions, requeue, **status)


def _serve(seen: Observed) -> Plan:
    assert seen.cloud is not None
    assert seen.look is not None
    if "floating-ip" in seen.look.unseen:
        return Plan(_told(seen, {}), requeue=POLL)  # no claim waits, so a poll is enough
    owner = Owner(seen.cloud, seen.identity)
    recorded = record_of(seen.status)
    new = adoptable(seen, recorded, seen.look)
    record = {**recorded, **dict(islice(new.items(), _space(seen, recorded)))}
    taken = {str(each["spec"]["address"]): each for each in seen.addresses}
    free = _free(seen, record)
    due = _due(seen, record, free)
    futile = _futile(seen, record) if len(_next(seen)) > len(due) else ""
    short = len(_next(seen)) > len(due) and not futile
    found = plan_next(
        owner,
        [part(slot, seen) for slot in _kept(seen, record, {*seen.taken, *due.values()}, short)],
        record,
        seen.look,
    )
    actions = (*_told(seen, due), *_withdrawn(seen, record), *found.calls)
    left = {slot: id_ for slot, id_ in found.record.items() if slot not in found.lost}
    lost = _lost(seen, record, taken) if seen.look.settled else []
    more = len(recorded) + len(new) - len(record)
    surplus = (
        [f"{more} more floating IPs have the pool's mark; the pool keeps at most {SPARE} beyond its claims"]
        if more
        else []
    )
    unusable = {*(seen.spec.get("preAllocatedFloatingIPs") or ())} - {*free, *seen.taken, *due.values()}
    return _report(
        seen,
        _stage(seen, found, lost, futile, "; ".join((*_elsewhere(seen, record, unusable), *surplus))),
        actions,
        0.0 if any(isinstance(action, CloudCall | Apply) for action in actions) or found.lost else POLL,
        claimedIPs=sorted({*taken, *due.values()} - set(lost)),
        availableIPs=sorted(set(free) - set(due.values())),
        failedIPs=sorted({*lost, *unusable}),
        floatingIPNetwork=dict(seen.found.network),
        **written(left),
    )


def _space(seen: Observed, record: Mapping[ResourceKey, str]) -> int:
    """How many more floating IPs the pool may have."""
    return max(0, len(seen.addresses) + len(seen.waiting[: _room(seen)]) + SPARE - len(record))


def _futile(seen: Observed, record: Mapping[ResourceKey, str]) -> str:
    """Why no further floating IP is created although a claim lacks one: a new one would be unusable as well."""
    for address, ids in _there(seen, record).items():
        if len(ids) > 1:
            return f"Floating IPs {' and '.join(ids)} have the same address, {address}; delete one of them in the cloud"
    if _space(seen, record):
        return ""
    return f"All {len(record)} floating IPs of the pool are in use by ports or other pools; detach or delete some"


def _there(seen: Observed, record: Mapping[ResourceKey, str]) -> dict[str, list[str]]:
    """Address → ids of the floating IPs that have it."""
    assert seen.look is not None
    given = [(GIVEN, thing.id) for thing in seen.found.given.values() if thing.id not in record.values()]
    found: dict[str, list[str]] = {}
    for slot, id_ in (*given, *record.items()):
        if thing := seen.look.get(slot, id_):
            found.setdefault(str(thing.facts.get("floating_ip_address", thing.id)), []).append(id_)
    return found


def _room(seen: Observed) -> int:
    """How many more claims spec.maxIPs allows."""
    most = seen.spec.get("maxIPs")
    return len(seen.waiting) if most is None else max(0, most - len(seen.addresses))


def _beyond(seen: Observed) -> list[Object]:
    """Claims beyond spec.maxIPs."""
    return seen.waiting[_room(seen) :]


def _next(seen: Observed) -> list[Object]:
    """Claims that can be served now. After a restore, a server may have an address before it has recorded its ports."""
    return [claim for claim in seen.waiting[: _room(seen)] if _is_known(seen, claim)]


def _is_known(seen: Observed, claim: Object) -> bool:
    """Whether it is known which address the server of a claim has. A claim without a server of ours has none."""
    assert seen.look is not None
    ports = seen.ports.get(claim["metadata"]["name"])
    if ports is None:
        return not label(claim, OWNER).startswith(f"{SERVER_KIND.kind.lower()}.")
    return bool(ports) and seen.look.settled


def _ours(seen: Observed, record: Mapping[ResourceKey, str]) -> dict[str, ResourceKey]:
    """Address → slot, of the floating IPs in the record."""
    assert seen.look is not None
    things = ((slot, seen.look.get(slot, id_)) for slot, id_ in record.items())
    return {str(thing.facts.get("floating_ip_address", thing.id)): slot for slot, thing in things if thing}


def _ips(seen: Observed, record: Mapping[ResourceKey, str]) -> dict[str, CloudResource]:
    """Address → floating IP, the user's first. Only the project view shows where they are attached."""
    assert seen.look is not None
    given = (thing for thing in _given(seen) if not _of_another(seen, record, thing))
    ours = (seen.look.get(slot, id_) for slot, id_ in record.items())
    return {str(thing.facts.get("floating_ip_address", thing.id)): thing for thing in (*given, *ours) if thing}


def _given(seen: Observed) -> list[CloudResource]:
    assert seen.look is not None
    return [there for each in seen.found.given.values() if (there := seen.look.get(GIVEN, each.id))]


def _of_another(seen: Observed, record: Mapping[ResourceKey, str], thing: CloudResource) -> bool:
    return bool(thing.mark) and not is_of(thing, seen.identity, record)


def _free(seen: Observed, record: Mapping[ResourceKey, str]) -> list[str]:
    """Addresses attached to no port and named by no IPAddress, the user's first."""
    used = {*seen.taken, *_attached(seen, record)}
    return [address for address in _ips(seen, record) if address not in used]


def _due(seen: Observed, record: Mapping[ResourceKey, str], free: list[str]) -> dict[Key, str]:
    """Claim → address, for claims that are served now. A server that has an address, as after a restore, keeps it."""
    left, attached, due = list(free), _attached(seen, record), dict[Key, str]()
    for claim in _next(seen):
        ports = seen.ports.get(claim["metadata"]["name"], frozenset())
        taken = {*seen.taken, *due.values()}
        own = [address for address, port in attached.items() if port in ports and address not in taken]
        if own or left:
            due[key_of(claim)] = own[0] if own else left.pop(0)
    return due


def _kept(seen: Observed, record: Mapping[ResourceKey, str], used: set[str], short: bool) -> list[ResourceKey]:
    """Slots to keep, and a new one if a claim lacks a floating IP."""
    assert seen.look is not None
    slots = list(record)
    if seen.spec.get("reclaimPolicy") == "Delete":
        mine = {**_ours(seen, record), **dict.fromkeys(seen.spec.get("preAllocatedFloatingIPs") or ())}
        used = used | _attached(seen, record).keys()
        idle = {slot for address, slot in mine.items() if slot and address not in used}
        slots = [slot for slot in slots if slot not in idle]
    return [*slots, unused(seen.identity, record, seen.look)] if short else slots


def _attached(seen: Observed, record: Mapping[ResourceKey, str]) -> dict[str, str]:
    """Address → the port it is attached to."""
    ports = ((address, thing.facts.get("port_id")) for address, thing in _ips(seen, record).items())
    return {address: str(port) for address, port in ports if port}


def _elsewhere(seen: Observed, record: Mapping[ResourceKey, str], unusable: set[str]) -> list[str]:
    """Why addresses given by the user are not used."""
    others = [thing for thing in _given(seen) if _of_another(seen, record, thing)]
    attached = {ip: f"port {port} uses it" for ip, port in _attached(seen, record).items()}
    why = {**attached, **{str(thing.facts.get("floating_ip_address")): f"it {MARKED}; {UNMARK}" for thing in others}}
    of = "of spec.preAllocatedFloatingIPs is not used"
    return [f"Floating IP {ip} {of}: {why[ip]}" for ip in why if ip in unusable]


def _withdrawn(seen: Observed, record: Mapping[ResourceKey, str]) -> tuple[Action, ...]:
    """Deletes the younger of two IPAddresses with the same address, unless its server uses that address."""
    there, attached = _ips(seen, record), _attached(seen, record)
    doubled = {each["metadata"]["name"]: each for each in seen.addresses if not is_deleting(each)}
    return tuple(
        Delete(ADDRESS, key_of(each), "an older IPAddress has its address")
        for name, each in doubled.items()
        if name in seen.doubled - seen.held
        and (address := each["spec"]["address"]) in there
        and attached.get(address) not in seen.ports.get(name, ())
    )


def _told(seen: Observed, due: Mapping[Any, str]) -> tuple[Action, ...]:
    """Deletes IPAddresses without a claim, creates new ones, and updates the status of the claims."""
    actions: list[Action] = [
        Delete(ADDRESS, key_of(each), "its claim was deleted")
        for each in seen.addresses
        if is_stale(seen, each) and not is_deleting(each)
    ]
    claims = {key_of(claim): claim for claim in seen.claims or () if claim["metadata"]["name"] not in seen.held}
    actions += [
        Apply(ADDRESS, ip_address(seen, claims[key_of(each)], each["spec"]["address"]), "taken over")
        for each in seen.addresses
        if is_restored(seen, each) and key_of(each) in claims
    ]
    served = {each["metadata"]["name"] for each in seen.addresses if not is_stale(seen, each)}
    beyond = {key_of(claim) for claim in _beyond(seen)}
    for claim in claims.values():
        name = claim["metadata"]["name"]
        if address := due.get(key_of(claim)):
            actions.append(Apply(ADDRESS, ip_address(seen, claim, address), "claimed"))
        if address or name in served:
            actions += claim_status(claim, done(READY, "", "Ready"), seen.now, name)
        elif key_of(claim) in beyond:
            actions += claim_status(claim, waiting(READY, _exhausted(seen), MAX_REACHED), seen.now)
    return tuple(actions)


def _exhausted(seen: Observed) -> str:
    name = seen.obj["metadata"]["name"]
    return f"All addresses that spec.maxIPs of {KIND.kind} {name} allows ({seen.spec['maxIPs']}) are claimed"


def _lost(seen: Observed, record: Mapping[ResourceKey, str], taken: Mapping[str, Any]) -> list[str]:
    """Claimed addresses that no longer exist in the cloud."""
    return sorted(set(taken) - set(seen.found.given) - set(_ours(seen, record)))


def _stage(seen: Observed, found: Progress, lost: list[str], futile: str, unused: str) -> Condition:
    """The condition. `futile` is why no further floating IP is created, `unused` names unusable ones with the cause."""
    names = ", ".join(each["metadata"]["name"] for each in _beyond(seen))
    if lost:
        text = f"Another client deleted floating IP {', '.join(lost)}; delete the claims that use them"
        return blocked(ADDRESSES, "ResourceNotFound", text)
    if found.wait:
        return waiting(ADDRESSES, found.wait)
    if any(call.do == "create" for call in found.calls):
        return waiting(ADDRESSES, "; ".join(filter(None, ("Creating a floating IP", unused))), "Applying")
    if futile:
        return blocked(ADDRESSES, "AddressesOfNoUse", futile)
    if names:
        return waiting(ADDRESSES, f"{_exhausted(seen)}; not served: {names}", MAX_REACHED)
    return done(ADDRESSES, unused)
