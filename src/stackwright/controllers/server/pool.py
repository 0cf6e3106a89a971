"""Claims a floating IP from a pool and attaches it to the first port of the server. Pure.

The pool owns the floating IP. Deletion of the server deletes the port, which frees the address, and then the claim,
which returns the address to the pool. If another client attaches the floating IP elsewhere, the operator attaches one
created by the pool again, and leaves one of a user or of another object there.
"""

from __future__ import annotations

from stackwright.controllers.infra.addresses import is_of, why_unusable
from stackwright.controllers.infra.clusterapi import CLAIM, claim_name, of_cluster
from stackwright.controllers.infra.managed_resources import Owner, Progress
from stackwright.controllers.infra.origin import is_restored
from stackwright.controllers.server.objects import port_slots
from stackwright.controllers.server.observe import KIND, Observed
from stackwright.core.conditions import Condition, done, find, waiting, waiting_for
from stackwright.core.objects import belongs, key_of, owned
from stackwright.core.openstack.resources import ResourceKey
from stackwright.core.plan import Action, Apply, Object

POOLED = "FloatingAddressFromPoolReady"
SLOT: ResourceKey = ("floating-ip", "pool")


def pooled(seen: Observed, owner: Owner, found: Progress) -> tuple[Condition, tuple[Action, ...]] | None:
    """The condition and the actions; None if the spec names no pool."""
    reference = seen.spec.get("floatingIPPoolRef")
    if not reference:
        return None
    named = f"IPAddressClaim {claim_name(seen.obj)}"
    claim = seen.pool.claim
    if claim is None:
        return waiting(POOLED, f"Creating {named}", "Applying"), (Apply(CLAIM, _claim(seen, reference), "absent"),)
    if is_restored(claim, seen.obj) and not belongs(claim, seen.obj["metadata"]["uid"]):
        taken = Apply(CLAIM, _claim(seen, reference), "taken over")
        return waiting(POOLED, f"Adopting {named}", "Applying"), (taken,)
    if not belongs(claim, seen.obj["metadata"]["uid"]):
        return waiting_for(POOLED, f"an earlier {named}", reason="NameTaken", gone=True), ()
    if not seen.pool.address:
        return _unserved(claim, f"pool {reference['name']} to serve {named}"), ()
    assert seen.view is not None
    if "floating-ip" in seen.view.unlisted_types:
        return done(POOLED), ()
    port = found.record[port_slots(seen.status["resolved"])[0]]
    at_port = (each for each in seen.view.things if each.facts.get("port_id") == port)
    if any(each.facts.get("floating_ip_address") == seen.pool.address for each in at_port):
        return done(POOLED), ()
    thing = seen.view.get(SLOT, seen.pool.id)
    if thing is None:
        return waiting(POOLED, f"Floating IP {seen.pool.address} does not exist in this cloud", "DependencyFailed"), ()
    if thing.facts.get("port_id", port) == port:
        return done(POOLED), ()
    if why := why_unusable(thing, is_of(thing, seen.pool.identity, seen.pool.record), found.record.values(), "server"):
        return waiting(POOLED, f"{why}, or delete {named} to claim another one", "AddressInUse"), ()
    call = owner.call("update", SLOT, id=thing.id, body={"port_id": port}, why="from the pool")
    return waiting(POOLED, f"Attaching floating IP {seen.pool.address}", "Applying"), (call,)


def _unserved(claim: Object, what: str) -> Condition:
    """The condition, with the cause from the claim's status."""
    ready = find(claim)
    if ready is None or ready["status"] == "True":
        return waiting_for(POOLED, what)
    cause = str(ready.get("message") or ready.get("reason"))
    return waiting_for(POOLED, what, cause, ready.get("reason") or "Waiting")


def _claim(seen: Observed, reference: Object) -> Object:
    namespace, _ = key_of(seen.obj)
    pool = {"apiGroup": KIND.group, **reference}
    return owned(CLAIM, (namespace, claim_name(seen.obj)), seen.obj, {"poolRef": pool}, of_cluster(seen.obj))
