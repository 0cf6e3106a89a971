"""Assigns addresses to the claims of a pool, and derives the IPAddresses and the claims' statuses. Pure."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import Any

from stackwright.controllers.floatingippool.inventory import Inventory
from stackwright.controllers.floatingippool.objects import claim_status, ip_address, is_restored, is_stale
from stackwright.controllers.floatingippool.observe import KIND, Observed
from stackwright.controllers.infra.clusterapi import ADDRESS
from stackwright.controllers.infra.server_template import SERVER_KIND
from stackwright.core.conditions import READY, Condition, done, waiting, waiting_for
from stackwright.core.objects import OWNER, is_deleting, key_of, label
from stackwright.core.plan import Action, Apply, Delete, Key, Object

MAX_REACHED, NAME_TAKEN = "MaxIPsReached", "NameTaken"


def allowed(seen: Observed) -> list[Object]:
    """Claims without an address that spec.maxIPs allows."""
    return seen.waiting[: _room(seen)]


def beyond(seen: Observed) -> list[Object]:
    """Claims beyond spec.maxIPs."""
    return seen.waiting[_room(seen) :]


def _room(seen: Observed) -> int:
    """Number of further claims that spec.maxIPs allows."""
    most = seen.spec.get("maxIPs")
    return len(seen.waiting) if most is None else max(0, most - len(seen.addresses))


def exhausted(seen: Observed) -> str:
    name = seen.obj["metadata"]["name"]
    return f"All addresses that spec.maxIPs of {KIND.kind} {name} allows ({seen.spec['maxIPs']}) are claimed"


def name_taken(seen: Observed, name: str) -> Condition:
    """The wait for an IPAddress of another pool, which that pool deletes when its claim was replaced."""
    what = f"an earlier {ADDRESS.kind} {name} of {seen.foreign[name]}"
    return waiting_for(READY, what, reason=NAME_TAKEN, gone=True)


def servable(seen: Observed) -> list[Object]:
    """Claims that can be served now. After a restore, a server may have an address but no recorded ports."""
    return [claim for claim in allowed(seen) if _is_known(seen, claim)]


def _is_known(seen: Observed, claim: Object) -> bool:
    """Whether the address of a claim's server is known. A claim without a server of ours has no address."""
    assert seen.view is not None
    ports = seen.ports.get(claim["metadata"]["name"])
    if ports is None:
        return not label(claim, OWNER).startswith(f"{SERVER_KIND.kind.lower()}.")
    return bool(ports) and seen.view.settled


def assigned(seen: Observed, claims: Iterable[Object], has: Inventory, free: list[str]) -> dict[Key, str]:
    """Claim → its new address. A server that has an address, as after a restore, keeps it."""
    left, found = list(free), dict[Key, str]()
    for claim in claims:
        ports = seen.ports.get(claim["metadata"]["name"], frozenset())
        taken = {*seen.taken, *found.values()}
        own = [address for address, port in has.attached.items() if port in ports and address not in taken]
        if own or left:
            found[key_of(claim)] = own[0] if own else left.pop(0)
    return found


def deleted_duplicates(seen: Observed, has: Inventory) -> tuple[Action, ...]:
    """Deletes the younger of two IPAddresses with the same address, unless its server uses that address."""
    return tuple(
        Delete(ADDRESS, key_of(each), "an older IPAddress has its address")
        for each in seen.addresses
        if (name := each["metadata"]["name"]) in seen.doubled - seen.held
        and not is_deleting(each)
        and (address := each["spec"]["address"]) in has.ips
        and has.attached.get(address) not in seen.ports.get(name, ())
    )


def updates(seen: Observed, due: Mapping[Any, str]) -> tuple[Action, ...]:
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
    unserved = {key_of(claim) for claim in beyond(seen)}
    for claim in claims.values():
        name = claim["metadata"]["name"]
        if address := due.get(key_of(claim)):
            actions.append(Apply(ADDRESS, ip_address(seen, claim, address), "claimed"))
        elif name in served:  # the claim names only an IPAddress that exists
            actions += claim_status(claim, done(READY, "", "Ready"), seen.now, name)
        elif name in seen.foreign:
            actions += claim_status(claim, name_taken(seen, name), seen.now)
        elif key_of(claim) in unserved:
            actions += claim_status(claim, waiting(READY, exhausted(seen), MAX_REACHED), seen.now)
    return tuple(actions)
