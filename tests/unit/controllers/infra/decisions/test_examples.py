"""Former errors in decisions about resources in an OpenStack, found by properties, one test each."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import pytest

from stackwright.api.infra.cluster.cluster import OpenStackCluster
from stackwright.api.infra.floatingippool import OpenStackFloatingIPPool
from stackwright.api.infra.machine import OpenStackMachine
from stackwright.api.infra.server import OpenStackServer
from stackwright.controllers.capicluster.objects import gateway_of
from stackwright.controllers.floatingippool.decide import decide as decide_pool
from stackwright.controllers.floatingippool.observe import Found
from stackwright.controllers.floatingippool.observe import Observed as PoolSeen
from stackwright.controllers.infra.clusterapi import CLAIM, NAME
from stackwright.controllers.infra.managed_resources import DesiredResource, Owner, plan_next
from stackwright.controllers.infra.teardown import POLL, plan_removal
from stackwright.controllers.machine.decide import decide as decide_machine
from stackwright.controllers.machine.observe import Observed as MachineSeen
from stackwright.controllers.server.decide import decide
from stackwright.controllers.server.objects import devices, parts
from stackwright.controllers.server.observe import Observed
from stackwright.controllers.server.resolve import resolve
from stackwright.core.objects import FINALIZER, owner_reference
from stackwright.core.openstack.calls import ADD_PORT, ADD_VOLUME, CloudCall
from stackwright.core.openstack.resources import SERVER_KEY, ProjectView, ResourceKey
from stackwright.core.plan import Apply, Object, Plan
from tests.unit.controllers.infra.decisions.specs import ID
from tests.unit.controllers.infra.decisions.strategies import CLOUD, KEY, UID, thing, uuid

PORT: ResourceKey = ("port", "web-0")
DISK: ResourceKey = ("volume", "root")
SPEC: Object = {
    "identityRef": {"name": "clouds", "cloudName": "mine"},
    "flavorID": "7",
    "image": {"id": ID},
    "sshKeyName": "",
    "ports": [{"network": {"id": ID}}],
}
CLAIMED: Object = {
    "ready": True,
    "instanceState": "ACTIVE",
    "addresses": [{"type": "InternalIP", "address": "10.0.0.5"}],
}


def an(model: Any, spec: Object, **more: Any) -> tuple[Object, Object]:
    found, errors = model.parsed({"spec": spec})
    assert not errors
    meta = {"name": KEY[1], "namespace": KEY[0], "uid": UID, "finalizers": [FINALIZER], **more}
    return {"apiVersion": model.KIND.api_version, "kind": model.KIND.kind, "metadata": meta, "spec": spec}, found


def server(view: ProjectView, volumes: tuple[str, ...] = (), **spec: Any) -> Observed:
    """One that was well."""
    obj, parsed = an(OpenStackServer, {**SPEC, **spec})
    disks = {"volumes": [{"name": name, "id": uuid(5)} for name in volumes]}
    status = {
        **CLAIMED,
        "instanceID": uuid(1),
        "resources": {"ports": [{"name": "web-0", "id": uuid(2)}], **disks},
        "resolved": resolve("web", parsed, {}, {}).value,
    }
    return Observed({**obj, "status": status}, 0.0, parsed, cloud=CLOUD, view=view)


YOUNG = ProjectView((thing(SERVER_KEY, uuid(1), "ACTIVE"),), unlisted_types=frozenset({"port", "trunk", "volume"}))


def test_a_server_is_healthy_also_before_its_ports_were_observed() -> None:
    plan = decide(server(YOUNG))
    assert plan.status["ready"]
    assert not plan.actions


def test_no_state_of_a_server_is_reported_while_its_list_is_in_progress() -> None:
    """A start with hundreds of them takes a while, and must not write anything for healthy ones."""
    plan = decide(server(ProjectView(unlisted_types=frozenset({"server", "port", "trunk", "volume"}))))
    assert plan == Plan(requeue=plan.requeue)
    assert plan.requeue


def test_an_unobserved_resource_is_neither_missed_nor_created_nor_gone() -> None:
    view, owner = replace(YOUNG, things=()), Owner(CLOUD, UID)
    wanted = [DesiredResource(PORT, lambda _: {}), DesiredResource(SERVER_KEY, lambda _: {})]
    assert plan_next(owner, wanted, {SERVER_KEY: uuid(1)}, view).missing == ()
    assert plan_next(owner, wanted, {}, view).calls == ()
    assert plan_next(owner, wanted, {}, view).wait
    assert plan_removal(owner, {PORT: uuid(2)}, view).record == {PORT: uuid(2)}
    assert not plan_removal(owner, {}, view).complete


def test_the_disks_of_a_lost_server_are_observed_before_it_is_forgotten() -> None:
    """They are deleted before the next server is created; a start of the operator lost them."""
    lost = server(replace(YOUNG, things=()), ("root",), rootVolume={"sizeGiB": 10}, recreatePolicy="Always")
    plan = decide(lost)
    assert plan.status["instanceID"] == uuid(1)
    assert plan.status["resources"]["volumes"]


def test_no_state_is_reported_of_a_server_that_will_be_recreated() -> None:
    """Its machine treated this state as a server without an id, and reported it to Kubernetes."""
    plan = decide(server(ProjectView((thing(PORT, uuid(2)),)), recreatePolicy="Always"))
    assert (plan.status["instanceID"], plan.status["instanceState"], plan.status["addresses"]) == ("", "", [])


def test_a_volume_in_creation_is_no_error_with_any_name() -> None:
    device = {"name": "errors", "sizeGiB": 1, "storage": {"type": "Volume"}}
    things = (thing(PORT, uuid(2)), thing(("volume", "errors"), uuid(5), "creating"))
    seen = server(ProjectView(things), ("errors",), additionalBlockDevices=[device])
    seen.obj["status"]["instanceID"] = ""
    assert {condition.reason for condition in decide(seen).conditions} == {"Done", "Waiting"}


def test_a_volume_in_error_is_reported_and_checked_again() -> None:
    things = (thing(PORT, uuid(2)), thing(DISK, uuid(5), "error"))
    seen = server(ProjectView(things), ("root",), rootVolume={"sizeGiB": 10})
    seen.obj["status"]["instanceID"] = ""
    plan = decide(seen)
    assert {condition.reason for condition in plan.conditions} == {"Done", "VolumeError"}
    assert (plan.actions, plan.requeue) == ((), POLL)


def test_a_finished_request_is_followed_at_once_by_the_next_step() -> None:
    """A second per port, disk and server adds up when a cluster creates hundreds of machines."""
    seen = server(ProjectView((thing(PORT, uuid(2)),)), rootVolume={"sizeGiB": 10})
    seen.obj["status"]["instanceID"] = ""
    plan = decide(seen)
    assert [action.target for action in plan.actions] == ["create volume web-root"]
    assert plan.requeue == 0


@pytest.mark.parametrize(
    ("facts", "device", "body", "name"),
    [
        ({"volumes": []}, uuid(1), {ADD_VOLUME: uuid(5)}, "volume root"),
        ({"volumes": [uuid(5)]}, "", {ADD_PORT: uuid(2)}, "port web-0"),
    ],
)
def test_a_detached_resource_is_attached_to_the_server_again(
    facts: Object, device: str, body: Object, name: str
) -> None:
    it = thing(SERVER_KEY, uuid(1), "ACTIVE", addresses={}, **facts)
    port = thing(
        PORT, uuid(2), device_id=device, mac_address="fa:16:3e:00:00:01", fixed_ips=[{"ip_address": "10.0.0.5"}]
    )
    disk = thing(DISK, uuid(5), "available")
    plan = decide(server(ProjectView((it, port, disk)), ("root",), rootVolume={"sizeGiB": 10}))
    (call,) = [action for action in plan.actions if isinstance(action, CloudCall)]
    assert (call.do, call.resource_key, call.id, call.body) == ("update", SERVER_KEY, uuid(1), body)
    assert plan.conditions[0].message == f"Another client detached {name}; the operator attaches it again"
    assert (plan.status["ready"], plan.status["instanceID"], plan.requeue) == (False, uuid(1), POLL)


def test_a_further_disk_may_be_called_root_and_is_not_booted_from() -> None:
    device = {"name": "root", "sizeGiB": 1, "storage": {"type": "Volume"}}
    _, spec = an(OpenStackServer, {**SPEC, "additionalBlockDevices": [device]})
    resolved = resolve("web", spec, {}, {}).value or {}
    (disk,) = [part for part in parts(KEY, spec, resolved) if part.resource_key == DISK]
    assert "imageRef" not in disk.body({})
    assert [each["boot_index"] for each in devices(spec, resolved, {DISK: uuid(5)})] == [0, -1]


@pytest.mark.parametrize(
    ("suffixes", "names"),
    [(("a", "a"), ["web-a", "web-a-1"]), (("1", None), ["web-1", "web-1-1"]), ((None, None), ["web-0", "web-1"])],
)
def test_each_port_has_a_unique_name(suffixes: Any, names: list[str]) -> None:
    ports = [{"network": {"id": ID}, **({"nameSuffix": suffix} if suffix else {})} for suffix in suffixes]
    found = resolve("web", an(OpenStackServer, {**SPEC, "ports": ports})[1], {}, {})
    assert [port["name"] for port in (found.value or {})["ports"]] == names


def machine(spec: Object, **more: Any) -> MachineSeen:
    obj, parsed = an(OpenStackMachine, spec, labels={NAME: "c"})
    cluster = {
        "metadata": {"name": "c"},
        "spec": {"identityRef": SPEC["identityRef"]},
        "status": {"ready": True, "network": {"id": ID}},
    }
    return MachineSeen(obj, parsed, named="c", cluster=cluster, **more)


@pytest.mark.parametrize(
    "spec",
    [{"flavor": {"filter": {"name": ""}}, "image": {"id": ID}}, {"flavor": "s", "image": {"filter": {"tags": []}}}],
)
def test_an_invalid_server_is_left_to_the_api_servers_validation(spec: Object) -> None:
    """Which reports it; the exception that was raised before was not visible to users."""
    (apply,) = decide_machine(machine(spec)).actions
    assert isinstance(apply, Apply)
    assert OpenStackServer.parsed(apply.obj)[1]


def test_a_change_for_a_server_that_was_just_deleted_does_not_recreate_it() -> None:
    seen = machine({"flavor": "s", "image": {"id": ID}, "credentialsLostPolicy": "Detach"})
    seen.obj["metadata"]["deletionTimestamp"] = "2026-01-01T00:00:00Z"
    meta = {"name": KEY[1], "namespace": KEY[0], "uid": "its", "ownerReferences": [owner_reference(seen.obj)]}
    apply, _ = decide_machine(replace(seen, server={"metadata": meta, "spec": SPEC})).actions
    assert isinstance(apply, Apply)
    assert apply.obj["metadata"]["uid"] == "its"


@pytest.mark.parametrize(
    ("cidr", "right"),
    [("10.6.0.0/24", True), ("10.6.0.0", False), ("10.6.0.0/40", False), ("a", False), ("fd::/64", False)],
)
def test_a_cidr_must_be_a_range_of_addresses(cidr: str, right: bool) -> None:
    errors = OpenStackCluster.parsed(
        {"spec": {"identityRef": SPEC["identityRef"], "managedSubnets": [{"cidr": cidr}]}}
    )[1]
    told = f"spec.managedSubnets[0].cidr: must be a range of IPv4 addresses such as 10.6.0.0/24, not '{cidr}'"
    assert errors == ([] if right else [told])


def test_the_gateway_of_the_smallest_range() -> None:
    assert gateway_of("10.6.0.0/32") == "10.6.0.0"


def test_a_floating_ip_assigned_by_another_pool_is_kept() -> None:
    spec = {"identityRef": SPEC["identityRef"], "reclaimPolicy": "Delete"}
    obj, parsed = an(OpenStackFloatingIPPool, spec)
    address: ResourceKey = ("floating-ip", "0")
    view = ProjectView((thing(address, uuid(3), floating_ip_address="192.0.2.1"),))
    obj["status"] = {"resources": [{"type": "floating-ip", "name": "0", "id": uuid(3)}]}
    seen = PoolSeen(obj, 0.0, parsed, cloud=CLOUD, view=view, claims=(), found=Found({"id": ID}, {}))
    assert [action.target for action in decide_pool(seen).actions] == [f"delete floating-ip 0 {uuid(3)}"]
    assert decide_pool(replace(seen, taken=frozenset({"192.0.2.1"}))).actions == ()


def lost_root(**more: Any) -> Observed:
    """A server with two disks, one of which was deleted by others."""
    device = {"name": "data", "sizeGiB": 1, "storage": {"type": "Volume"}}
    seen = server(ProjectView(), ("root", "data"), rootVolume={"sizeGiB": 10}, additionalBlockDevices=[device], **more)
    disks = [{"name": "root", "id": uuid(5)}, {"name": "data", "id": uuid(6)}]
    seen.obj["status"]["resources"]["volumes"] = disks
    things = (thing(SERVER_KEY, uuid(1), "ACTIVE"), thing(PORT, uuid(2)), thing(("volume", "data"), uuid(6), "in-use"))
    return replace(seen, view=ProjectView(things))


def test_remaining_disks_are_deleted_after_the_server_that_uses_them() -> None:
    """Cinder refuses to delete a volume that is attached."""
    seen = lost_root(recreatePolicy="Always")
    assert [action.target for action in decide(seen).actions] == [f"delete server {uuid(1)}"]
    assert seen.view
    without = replace(seen, view=ProjectView(seen.view.things[1:]))
    assert [action.target for action in decide(without).actions] == [f"delete volume data {uuid(6)}"]


def test_the_server_of_a_machine_with_an_id_is_never_recreated() -> None:
    """Cluster API would have a machine with the providerID of a server that is gone."""
    plan = decide(replace(lost_root(recreatePolicy="Always"), known=uuid(1)))
    assert plan.actions == ()
    assert plan.conditions[0].reason == "BlockedResourceNotFound"


def test_a_machine_is_not_ready_when_its_server_is_in_deletion() -> None:
    seen = machine({"flavor": "s", "image": {"id": ID}})
    meta = {"name": KEY[1], "namespace": KEY[0], "uid": "its", "ownerReferences": [owner_reference(seen.obj)]}
    status = {**CLAIMED, "instanceID": uuid(1)}
    going = {**meta, "deletionTimestamp": "2026-01-01T00:00:00Z"}
    told = [
        decide_machine(replace(seen, server={"metadata": m, "spec": SPEC, "status": status})) for m in (meta, going)
    ]
    assert [plan.status["ready"] for plan in told] == [True, False]


def mirrored(state: str, instance: str, **spec: Any) -> Plan:
    seen = machine({"flavor": "s", "image": {"id": ID}, **spec})
    meta = {"name": KEY[1], "namespace": KEY[0], "uid": "its", "ownerReferences": [owner_reference(seen.obj)]}
    status = {**CLAIMED, "instanceState": state, "instanceID": instance}
    return decide_machine(replace(seen, server={"metadata": meta, "spec": SPEC, "status": status}))


def test_a_machine_gets_the_name_of_its_server_once_that_runs() -> None:
    """Kubernetes knows the node by it, so without it no node joins."""

    def named(state: str) -> list[Any]:
        applied = [action for action in mirrored(state, uuid(1)).actions if isinstance(action, Apply)]
        return [action.obj["spec"] for action in applied if action.kind == OpenStackMachine.KIND]

    assert named("ACTIVE") == [{"providerID": f"openstack:///{uuid(1)}"}]
    assert named("BUILD") == []


def test_a_machine_with_the_id_of_another_server_reports_it() -> None:
    known = {"providerID": f"openstack:///{uuid(1)}"}
    plan = mirrored("ACTIVE", uuid(2), **known)
    assert (plan.conditions[0].reason, plan.status["ready"], plan.actions) == ("BlockedProviderIDMismatch", False, ())
    assert mirrored("ACTIVE", uuid(1), **known).status["ready"]


def test_a_claim_is_served_once_it_is_known_which_address_its_server_has() -> None:
    """After a restore it may already have one, which is unknown until a list is settled."""
    obj, parsed = an(OpenStackFloatingIPPool, {"identityRef": SPEC["identityRef"]})
    obj["status"] = {"resources": [{"type": "floating-ip", "name": "0", "id": uuid(3)}]}
    view = ProjectView((thing(("floating-ip", "0"), uuid(3), floating_ip_address="192.0.2.1"),))
    meta = {"namespace": KEY[0], "name": "c", "uid": "c"}
    claim = {"apiVersion": CLAIM.api_version, "kind": CLAIM.kind, "metadata": meta, "spec": {}}
    seen = PoolSeen(obj, 0.0, parsed, cloud=CLOUD, view=view, claims=(claim,), found=Found({"id": ID}, {}))

    def served(**more: Any) -> bool:
        return any(isinstance(action, Apply) for action in decide_pool(replace(seen, **more)).actions)

    assert served(ports={"c": frozenset({"p"})})
    assert not served(ports={"c": frozenset({"p"})}, view=replace(view, settled=False))
    assert not served(ports={"c": frozenset()})
