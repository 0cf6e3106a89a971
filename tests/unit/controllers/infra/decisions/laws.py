"""Laws of every decision about resources in an OpenStack: (observation, plan) → nothing, or an assertion fails."""

from __future__ import annotations

import copy
import json
from collections.abc import Callable
from typing import Any

from stackwright.api.infra.server import OpenStackServer
from stackwright.controllers.capicluster.decide import decide as decide_cluster
from stackwright.controllers.floatingippool.decide import decide as decide_pool
from stackwright.controllers.infra.cloud_observation import AUTHENTICATION
from stackwright.controllers.infra.clusterapi import ADDRESS
from stackwright.controllers.infra.managed_resources import is_gone
from stackwright.controllers.infra.managed_resources import record_of as cluster_record
from stackwright.controllers.machine.decide import decide as decide_machine
from stackwright.controllers.server.decide import decide as decide_server
from stackwright.controllers.server.record import record_of as server_record
from stackwright.core.conditions import READY
from stackwright.core.objects import belongs, has_finalizer, is_deleting
from stackwright.core.openstack.calls import CloudCall, resolve_pending
from stackwright.core.openstack.resource_types import TYPES, deletion_order
from stackwright.core.openstack.resources import SERVER_KEY as SERVER_SLOT
from stackwright.core.openstack.resources import CloudResource, mark, marked_by
from stackwright.core.plan import Apply, Finalizer, Plan
from stackwright.runtime.cycle.pausing import unchanged
from tests.unit.controllers.infra.decisions.observations import ClusterSeen, MachineSeen, PoolSeen, ServerSeen
from tests.unit.controllers.infra.decisions.strategies import CLOUD, COPIED, UID

_DECIDE: dict[type, Callable[[Any], Plan]] = {
    ServerSeen: decide_server,
    MachineSeen: decide_machine,
    ClusterSeen: decide_cluster,
    PoolSeen: decide_pool,
}


def decided(seen: Any) -> Plan:
    """The plan, as the cycle builds it."""
    return unchanged(seen.obj, seen.paused) if seen.paused else _DECIDE[type(seen)](seen)


def record(seen: Any) -> dict[Any, str]:
    of = server_record if seen.obj["kind"] == OpenStackServer.KIND.kind else cluster_record
    return dict(of(seen.status))


def calls(plan: Plan) -> list[CloudCall]:
    return [action for action in plan.actions if isinstance(action, CloudCall)]


def ready(plan: Plan) -> bool:
    return any(condition.type == READY and condition.status for condition in plan.conditions)


def ours(seen: Any) -> set[tuple[str, str]]:
    """Resources that are recorded or have a mark of this object."""
    things = getattr(seen.view, "things", ())
    return {(key[0], id_) for key, id_ in record(seen).items()} | {
        (thing.type, thing.id) for thing in things if marked_by(thing, UID)
    }


def users(seen: Any) -> set[tuple[str, str]]:
    """Floating IPs that the user wrote down."""
    written = {str((seen.spec.get(part) or {}).get("floatingIP")) for part in ("apiServer", "bastion")}
    written |= set(seen.spec.get("preAllocatedFloatingIPs") or ())
    things = getattr(seen.view, "things", ()) if hasattr(seen, "view") else ()
    return {(thing.type, thing.id) for thing in things if thing.facts.get("floating_ip_address") in written}


def lent(seen: Any) -> set[tuple[str, str]]:
    """Existing resources that objects may use: addresses, and a router."""
    found = getattr(seen, "found", None)
    given = {("floating-ip", thing.id) for thing in getattr(found, "addresses", {}).values()}
    given |= {("router", str(((getattr(found, "names", None) or {}).get("router") or {}).get("id")))}
    return given | users(seen) | ({("floating-ip", seen.pool.id)} if hasattr(seen, "pool") else set())


def copies(seen: Any) -> set[tuple[str, str]]:
    """Possible copies of our volumes: of several volumes with one mark, some are not surely ours."""
    things = [thing for thing in getattr(getattr(seen, "view", None), "things", ()) if marked_by(thing, UID)]
    disks = [thing for thing in things if thing.type == "volume"]
    known = {id_: key for key, id_ in record(seen).items()} if disks else {}
    recorded = {mark(UID, key) for key in known.values()}
    found = {thing.id for thing in things if thing.facts.get("created_at") == COPIED}
    for thing in disks:
        others = [each for each in disks if each.mark == thing.mark and each.id != thing.id]
        if thing.mark not in recorded:  # what is surely ours is adopted, but not by an object in deletion
            found |= {thing.id} if others and is_deleting(seen.obj) else set()
        elif thing.id not in known:
            ours = [each for each in others if each.id in known]
            found |= set() if ours and ours[0].facts["answered"] else {thing.id}
    return {("volume", id_) for id_ in found}


def it_is_a_plan_that_can_be_told_and_done(seen: Any, plan: Plan) -> None:
    assert isinstance(plan, Plan)
    assert all(str(action) for action in plan.actions)
    types = [condition.type for condition in plan.conditions]
    assert len(types) == len(set(types))
    made = {call.resource_key: "made" for call in calls(plan) if call.do == "create"}
    assert json.dumps(resolve_pending(plan.status, made))


def it_is_the_same_next_time(seen: Any, plan: Plan) -> None:
    assert decided(seen) == plan


def is_of(thing: CloudResource, call: CloudCall) -> bool:
    """Whether an existing resource names the same other ones: a subnet of another network does not replace ours."""
    named = [field for field in TYPES[thing.type].needs if isinstance(thing.facts.get(field), str)]
    return all(thing.facts[field] == call.body.get(field) for field in named)


def it_makes_one_thing_at_most_and_only_what_is_surely_not_there(seen: Any, plan: Plan) -> None:
    made = [call for call in calls(plan) if call.do == "create"]
    assert len(made) <= 1
    for call in made:
        assert seen.view.settled
        assert call.resource_key[0] not in seen.view.unlisted_types
        assert not call.id
        assert not [t for t in seen.view.marked(UID, call.resource_key) if not is_gone(t) and is_of(t, call)]
        there = seen.view.get(call.resource_key, record(seen).get(call.resource_key, ""))
        assert there is None or is_gone(there)
        assert has_finalizer(seen.obj)


def it_touches_only_what_is_recorded_or_marked(seen: Any, plan: Plan) -> None:
    for call in calls(plan):
        assert (call.cloud, call.uid) == (CLOUD, UID)
        if call.do == "delete":
            assert (call.resource_key[0], call.id) in ours(seen) - (set() if call.why == "duplicate" else users(seen))
        if call.do == "update":
            assert (call.resource_key[0], call.id) in ours(seen) | lent(seen)


def what_somebody_else_made_of_ours_stays(seen: Any, plan: Plan) -> None:
    assert not [call for call in calls(plan) if (call.resource_key[0], call.id) in copies(seen)]


def it_makes_nothing_while_it_goes(seen: Any, plan: Plan) -> None:
    if not is_deleting(seen.obj):
        return
    assert {call.do for call in calls(plan)} <= {"delete"}
    assert not ready(plan)
    if any(each.reason == "Paused" for each in plan.conditions):
        assert not plan.actions
        return  # and the status stays as it was
    assert not plan.status.get("ready")
    for action in plan.actions:
        assert not (isinstance(action, Finalizer) and action.present)
        if isinstance(action, Apply):  # of existing resources, and not of a later one of the same name
            assert action.obj["metadata"].get("uid") in {each["metadata"]["uid"] for each in there(seen)}


def there(seen: Any) -> list[Any]:
    """Objects of ours around it."""
    found = [getattr(seen, "server", None), *getattr(seen, "servers", {}).values(), *getattr(seen, "addresses", ())]
    return [each for each in found if each]


def it_goes_when_nothing_is_left(seen: Any, plan: Plan) -> None:
    if not any(isinstance(action, Finalizer) and not action.present for action in plan.actions):
        return
    assert is_deleting(seen.obj)
    assert has_finalizer(seen.obj)
    assert not [each for each in there(seen) if belongs(each, UID)]
    assert not getattr(seen, "machines", ())
    assert not getattr(seen, "addresses", ())
    if isinstance(seen, MachineSeen):
        return
    policy = seen.spec.get("credentialsLostPolicy", "Wait")
    lost = seen.failure is not None and seen.failure.type == AUTHENTICATION
    if policy == "Orphan" or (policy == "Detach" and lost) or seen.spec.get("reclaimPolicy") == "Retain":
        return
    assert seen.view.settled
    assert not seen.view.unlisted_types
    due = ours(seen) - users(seen) - copies(seen)
    left = [t for t in seen.view.things if (t.type, t.id) in due and t.type in deletion_order()]
    assert all(map(is_gone, left))


def it_is_never_stuck(seen: Any, plan: Plan) -> None:
    """An object that is not ready acts, requeues itself, waits for an event, or reports what a user must do."""
    if not plan.conditions or ready(plan) or isinstance(seen, MachineSeen):
        return
    assert plan.actions or plan.requeue is not None or any(condition.blocked for condition in plan.conditions)


def it_forgets_only_what_is_surely_not_there(seen: Any, plan: Plan) -> None:
    """Or resources that the user adopted; a deletion that ends forgets all."""
    if isinstance(seen, MachineSeen) or "resources" not in plan.status:
        return
    told = type(seen)(**{**vars(seen), "obj": {**seen.obj, "status": plan.status}})
    for key, id_ in record(seen).items():
        if key in record(told) or (key[0], id_) in lent(seen):
            continue
        thing = seen.view.get(key, id_)
        assert seen.view.settled
        assert key[0] not in seen.view.unlisted_types
        assert thing is None or is_gone(thing)


def a_server_is_made_of_disks_that_are_there(seen: Any, plan: Plan) -> None:
    for call in calls(plan):
        if (call.do, call.resource_key) == ("create", SERVER_SLOT):
            disks = [each for each in call.body.get("block_device_mapping_v2", []) if each["source_type"] == "volume"]
            states = {thing.id: thing.state for thing in seen.view.things}
            assert {states[each["uuid"]] for each in disks} <= {"available", "in-use", "reserved"}


def a_server_is_ready_when_it_is_active(seen: Any, plan: Plan) -> None:
    if not isinstance(seen, ServerSeen):
        return
    looked = seen.view is not None and seen.status.get("resolved") and has_finalizer(seen.obj)
    found = seen.view.get(SERVER_SLOT, str(plan.status.get("instanceID"))) if seen.view else None
    if ready(plan) or (looked and plan.status.get("ready")):
        assert found is not None
        assert found.state == "ACTIVE"
    assert plan.status.get("instanceID") or not plan.status.get("instanceState")
    if any(condition.reason == "VolumeError" for condition in plan.conditions):
        assert any(thing.type == "volume" and "error" in thing.state for thing in seen.view.things)


def what_it_applies_is_valid(seen: Any, plan: Plan) -> None:
    for action in plan.actions:
        if isinstance(action, Apply) and action.kind == OpenStackServer.KIND:
            assert OpenStackServer.parsed(action.obj)[1] == []
        if isinstance(action, Apply) and "providerID" in action.obj["spec"]:
            assert action.obj["spec"]["providerID"].endswith(f"/{seen.server['status']['instanceID']}")


def no_two_have_the_same_address(seen: Any, plan: Plan) -> None:
    """And no address in use is deleted."""
    if not isinstance(seen, PoolSeen) or is_deleting(seen.obj):
        return
    given = [a.obj["spec"]["address"] for a in plan.actions if isinstance(a, Apply) and a.kind == ADDRESS]
    assert len(set(given)) == len(given)
    assert not seen.taken & set(given)
    for call in calls(plan):
        if call.do == "delete" and not call.why:
            assert seen.view.get(call.resource_key, call.id).facts["floating_ip_address"] not in {*seen.taken, *given}


def an_address_that_a_port_has_goes_to_nobody_else(seen: Any, plan: Plan) -> None:
    if not isinstance(seen, PoolSeen) or is_deleting(seen.obj) or seen.view is None:
        return
    at = {thing.facts.get("floating_ip_address"): thing.facts.get("port_id") for thing in seen.view.things}
    for action in plan.actions:
        if isinstance(action, Apply) and action.why == "claimed":
            port, ports = at[action.obj["spec"]["address"]], seen.ports.get(action.obj["metadata"]["name"])
            assert port is None or port in (ports or ())
            assert ports is None or (ports and seen.view.settled)
    for call in calls(plan):
        assert call.do != "delete" or call.why or not seen.view.get(call.resource_key, call.id).facts.get("port_id")


def an_address_of_somebody_else_stays_where_it_is(seen: Any, plan: Plan) -> None:
    """A user's address is moved to the next port only if it is unattached or on a port of ours."""
    pool, servers = getattr(seen, "pool", None), getattr(seen, "servers", {}).values()
    ports = [each for server in servers for each in server["status"].get("resources", {}).get("ports", ())]
    for call in calls(plan):
        if call.do != "update" or not call.body.get("port_id") or (call.resource_key[0], call.id) in ours(seen):
            continue
        ip = seen.view.get(call.resource_key, call.id)
        if pool and marked_by(ip, pool.identity):
            continue
        assert not ip.mark or ip.facts.get("port_id") in {port["id"] for port in ports}
        assert ip.facts.get("port_id") in {None, *record(seen).values(), *(port["id"] for port in ports)}


LAWS = (
    it_is_a_plan_that_can_be_told_and_done,
    it_is_the_same_next_time,
    it_makes_one_thing_at_most_and_only_what_is_surely_not_there,
    it_touches_only_what_is_recorded_or_marked,
    what_somebody_else_made_of_ours_stays,
    it_makes_nothing_while_it_goes,
    it_goes_when_nothing_is_left,
    it_is_never_stuck,
    it_forgets_only_what_is_surely_not_there,
    a_server_is_made_of_disks_that_are_there,
    a_server_is_ready_when_it_is_active,
    what_it_applies_is_valid,
    no_two_have_the_same_address,
    an_address_that_a_port_has_goes_to_nobody_else,
    an_address_of_somebody_else_stays_where_it_is,
)


def lawful(observed: list[Any]) -> None:
    for seen in observed:
        before = copy.deepcopy(seen)
        plan = decided(seen)
        assert seen == before, "decide changes what it looks at"
        for law in LAWS:
            law(seen, plan)
