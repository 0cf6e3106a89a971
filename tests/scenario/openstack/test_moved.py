"""Objects that are recreated without status and with other UIDs adopt all resources, as after `clusterctl move`."""

from __future__ import annotations

import copy
import importlib
from collections.abc import Callable, Iterable
from typing import Any

import pytest

from stackwright.api.infra.floatingippool import OpenStackFloatingIPPool
from stackwright.api.kinds import NAMESPACE as SPACE
from stackwright.api.meta import Kind
from stackwright.controllers.infra.clusterapi import ADDRESS, CLAIM
from stackwright.controllers.infra.origin import ORIGIN
from stackwright.core.objects import OWNER
from stackwright.core.plan import Object
from tests.scenario.capi_world import BASTION, CLUSTERS, IDENTITY, MACHINES, PART, SERVERS, Clusters, make_small
from tests.scenario.pool_world import pools
from tests.scenario.world import NAMESPACE

pytestmark = pytest.mark.looptime
POOLS = OpenStackFloatingIPPool.KIND
KINDS = (POOLS, CLUSTERS, MACHINES, SERVERS, CLAIM, ADDRESS)
OBSERVED = ("server", "machine", "infra")
KEPT = ("name", "namespace", "labels", "annotations")


async def whole(given: str = "") -> Clusters:
    """A cluster with a bastion and two machines, one with a disk, and a pool with an address, maybe the user's."""
    world = Clusters(core=True)
    pool: Object = {"identityRef": IDENTITY, "reclaimPolicy": "Delete"}
    if given:
        world.foreigner("floating-ip", floating_ip_address=given)
        pool["preAllocatedFloatingIPs"] = [given]
    world.write(POOLS, "p", pool)
    world.make(bastion=BASTION)
    await world.run(60)
    assert world.told()[0] == "Ready"
    world.machine("cp", control_plane=True, rootVolume={"sizeGiB": 10})
    world.machine("m", floatingIPPoolRef={"kind": "OpenStackFloatingIPPool", "name": "p"})
    await world.run(120)
    for name in ("cp", "m"):
        assert world.told(kind=MACHINES, name=name)[0] == "Ready"
    return world


async def make_another(world: Clusters) -> None:
    """Create and delete a cluster with the same names as another one, which this operator does not know."""
    await make_small(world)
    assert len(world.clouds.all("server")) == len(world.clouds.all("router")) == 2
    world.delete(MACHINES, "m")
    world.delete(CLUSTERS, "c")
    await world.settle(patience=20)


async def small() -> Clusters:
    world = Clusters()
    await make_small(world)
    return world


def restored(old: Clusters, kinds: Iterable[Kind] = KINDS, edit: Callable[[Object], Object] = lambda obj: obj) -> Any:
    """Another Kubernetes cluster with the objects of a backup, and the same OpenStack."""
    world = old.again()
    kept = [(kind, obj) for kind in kinds for obj in old.cluster.all(kind)]
    space = world.cluster.peek(SPACE, ("", "kube-system")) or {}
    space["metadata"]["uid"] = "another"
    others = {key: obj for key, obj in world.cluster._objects.items() if key[0] not in KINDS}
    world.cluster._objects = {**others, (SPACE, ("", "kube-system")): space}
    for kind, obj in kept:
        meta = {name: value for name, value in obj["metadata"].items() if name in KEPT}
        world.cluster.put(kind, edit(copy.deepcopy({"metadata": meta, "spec": obj["spec"]})))
    return world


async def test_a_backup_that_is_restored_into_another_cluster_adopts_everything_and_deletes_it_all() -> None:
    old = await whole()
    await old.stop()
    things = {(t.type, t.id) for t in old.clouds.all()}
    ids = {name: (old.get(MACHINES, name) or {})["spec"]["providerID"] for name in ("cp", "m")}
    addresses = [each["spec"]["address"] for each in old.cluster.all(ADDRESS)]
    world = restored(old)
    before = len(world.clouds.calls)
    await world.run(200)
    assert {(t.type, t.id) for t in world.clouds.all()} == things
    # Rules that Neutron adds to each group have no mark; a request for an existing rule creates none.
    calls = [call for call in world.clouds.calls[before:] if call.resource_key[0] != "security-group-rule"]
    assert [str(call) for call in calls if call.do != "update"] == []
    for name in ("cp", "m"):
        assert world.told(kind=MACHINES, name=name)[0] == "Ready"
        assert (world.get(MACHINES, name) or {})["spec"]["providerID"] == ids[name]
    assert world.told() == ("Ready", "")
    assert world.status()["bastion"]["floatingIP"] == old.status()["bastion"]["floatingIP"]
    assert [each["spec"]["address"] for each in world.cluster.all(ADDRESS)] == addresses
    for kind, name in ((CLUSTERS, "c"), (MACHINES, "cp"), (MACHINES, "m"), (POOLS, "p")):
        world.delete(kind, name)
    await world.settle(patience=20)
    assert world.there() == []
    assert not any(world.names(kind) for kind in KINDS)


@pytest.mark.parametrize("first", KINDS, ids=lambda kind: kind.kind)
async def test_the_kinds_of_a_backup_may_be_restored_one_after_the_other_in_any_order(first: Kind) -> None:
    """In between, the operator observes only some of the kinds."""
    old = await whole()
    await old.stop()
    things = {(t.type, t.id) for t in old.clouds.all()}
    backup = restored(old)
    kept = {kind: backup.cluster.all(kind) for kind in KINDS}
    world, before = restored(old, ()), len(old.clouds.calls)
    start = KINDS.index(first)
    for kind in (*KINDS[start:], *KINDS[:start]):
        for obj in kept[kind]:
            meta = {name: value for name, value in obj["metadata"].items() if name in KEPT}
            if not world.get(kind, meta["name"]):  # as backup tools do
                world.cluster.put(kind, {"metadata": meta, "spec": obj["spec"]})
        await world.run(40)
    await world.run(200)
    calls = [call for call in world.clouds.calls[before:] if call.resource_key[0] != "security-group-rule"]
    assert [str(call) for call in calls if call.do != "update"] == []
    assert {(t.type, t.id) for t in world.clouds.all()} == things
    for kind, name in ((CLUSTERS, "c"), (MACHINES, "cp"), (MACHINES, "m")):
        assert world.told(kind=kind, name=name) == ("Ready", "")


def attached(world: Clusters) -> dict[str, str]:
    """Floating IP → its port."""
    every = world.clouds.all("floating-ip")
    return {str(ip.facts["floating_ip_address"]): ip.facts["port_id"] for ip in every if ip.facts.get("port_id")}


@pytest.mark.parametrize("given", ["", "198.51.100.1"], ids=["made", "given"])
async def test_a_claim_restored_without_its_address_gets_that_of_its_server(given: str) -> None:
    old = await whole(given)
    await old.stop()
    world = restored(old, (POOLS, CLUSTERS, MACHINES, SERVERS, CLAIM))
    world.write(CLAIM, "another", {"poolRef": {"apiGroup": POOLS.group, "kind": POOLS.kind, "name": "p"}})
    (before,) = [each["spec"]["address"] for each in old.cluster.all(ADDRESS)]
    assert given in ("", before)
    await world.run(200)
    found = {each["metadata"]["name"]: each["spec"]["address"] for each in world.cluster.all(ADDRESS)}
    assert found["m-floating-ip-address"] == before != found["another"]
    assert attached(world) == attached(old)


@pytest.mark.parametrize("late", [(), (SERVERS,)], ids=["together", "server-later"])
async def test_a_claim_that_is_restored_gets_no_free_address_while_it_is_unknown_which_its_server_has(
    late: tuple[Kind, ...],
) -> None:
    old = await whole("198.51.100.1")
    await old.stop()
    world = restored(old, (POOLS, CLUSTERS, CLAIM))
    world.foreigner("floating-ip", floating_ip_address="198.51.100.2")
    pool = world.get(POOLS, "p") or {}
    world.write(POOLS, "p", {**pool["spec"], "preAllocatedFloatingIPs": ["198.51.100.2", "198.51.100.1"]})
    for kind in (SERVERS, MACHINES):
        if kind in late:
            await world.run(60)
        for obj in restored(old, (kind,)).cluster.all(kind):
            world.cluster.put(kind, obj)
    await world.run(200)
    assert [each["spec"]["address"] for each in world.cluster.all(ADDRESS)] == ["198.51.100.1"]
    assert attached(world) == attached(old)


@pytest.mark.parametrize("left", [("d",), ("b", "d"), ("c", "e", "f")], ids=" ".join)
async def test_a_restored_pool_adopts_its_remaining_addresses(left: tuple[str, ...]) -> None:
    old = await pools(reclaimPolicy="Delete")
    for name in "abcdef":
        old.claim(name)
        await old.run(30)
    for name in sorted({*"abcdef"} - {*left}):
        old.delete(CLAIM, name)
    await old.run(60)
    await old.stop()
    before = old.served()
    assert sorted(before) == list(left) and sorted(before.values()) == old.ips()
    world = restored(old)
    await world.run(120)
    assert world.told(kind=POOLS, name="p")[0] == "Ready"
    for name in "xyz":
        world.write(CLAIM, name, {"poolRef": {"apiGroup": POOLS.group, "kind": POOLS.kind, "name": "p"}})
    await world.run(120)
    assert before.items() <= world.served().items()
    assert sorted(world.served().values()) == world.ips() and len(world.ips()) == len(left) + 3
    assert not world.clouds.made_twice
    for name in (*left, *"xyz"):
        world.delete(CLAIM, name)
    world.delete(POOLS, "p")
    await world.settle(patience=20)
    assert world.ips() == []


@pytest.mark.parametrize("first", [CLUSTERS, MACHINES, SERVERS], ids=lambda kind: kind.kind)
@pytest.mark.parametrize("lacking", [(), (SERVERS,)], ids=["all", "no-servers"])
async def test_users_addresses_stay_on_the_same_machines_after_a_restore(
    first: Kind, lacking: tuple[Kind, ...]
) -> None:
    """This includes the address of the API, if its machine is restored last."""
    old = Clusters()
    for ip in ("198.51.100.1", "198.51.100.2"):
        old.foreigner("floating-ip", floating_ip_address=ip)
    old.make(apiServer={"floatingIP": "198.51.100.1"}, bastion={**BASTION, "floatingIP": "198.51.100.2"})
    old.machine("z", control_plane=True)
    await old.run(120)
    old.machine("a", control_plane=True)
    await old.run(120)
    await old.stop()
    before = attached(old)
    assert before == {"198.51.100.1": old.one("port", "z").id, "198.51.100.2": old.one("port", "bastion").id}
    world, backup, calls = restored(old, ()), restored(old), len(old.clouds.calls)
    kinds = [CLUSTERS, MACHINES, SERVERS]
    start = kinds.index(first)
    for kind in (*kinds[start:], *kinds[:start]):
        for obj in backup.cluster.all(kind) if kind not in lacking else ():
            meta = {name: value for name, value in obj["metadata"].items() if name in KEPT}
            if not world.get(kind, meta["name"]):
                world.cluster.put(kind, {"metadata": meta, "spec": obj["spec"]})
            await world.run(40)
    await world.run(200)
    assert not [call for call in world.clouds.calls[calls:] if call.resource_key[0] == "floating-ip"]
    assert attached(world) == before
    for kind, name in ((CLUSTERS, "c"), (MACHINES, "a"), (MACHINES, "z")):
        assert world.told(kind=kind, name=name) == ("Ready", "")


async def test_a_machine_without_its_moved_server_object_finds_its_server() -> None:
    old = await whole()
    await old.stop()
    world = restored(old, (CLUSTERS, MACHINES))
    await world.run(200)
    assert world.told(kind=MACHINES, name="cp")[0] == "Ready"
    assert {t.id for t in world.clouds.all("server")} == {t.id for t in old.clouds.all("server")}
    assert {t.id for t in world.clouds.all("port")} == {t.id for t in old.clouds.all("port")}


async def test_a_machine_that_is_known_by_an_id_never_gets_another_server() -> None:
    """Without the origin, its resources cannot be distinguished from those of a machine with the same name in another
    cluster.
    """

    def bare(obj: Object) -> Object:
        obj["metadata"]["annotations"] = {}
        return obj

    old = await whole()
    await old.stop()
    world = restored(old, edit=bare)
    await world.run(200)
    names = [t.name for t in world.clouds.all("server")]
    assert (names.count("cp"), names.count("m")) == (1, 1)
    for name in ("cp", "m"):
        before = (old.get(MACHINES, name) or {})["spec"]["providerID"]
        reason, message = world.told(kind=MACHINES, name=name)
        assert reason == "BlockedInstanceNotFound"
        assert before.rsplit("/", 1)[-1] in message
        assert (world.get(MACHINES, name) or {})["spec"]["providerID"] == before


async def test_objects_of_one_name_in_two_clusters_with_one_project_share_nothing() -> None:
    old = await small()
    await old.stop()
    world = restored(old, ())
    before = {(t.type, t.id) for t in old.clouds.all()}
    await make_another(world)
    assert {(t.type, t.id) for t in world.clouds.all()} == before


@pytest.mark.parametrize("forged", ["copied", "named"])
async def test_an_origin_copied_from_another_namespace_adopts_nothing(forged: str) -> None:
    world = await small()
    victim = (world.get(SERVERS, "m") or {})["metadata"]
    (server,) = world.clouds.all("server")
    identity = server.mark.split(":")[1]
    origin = {"copied": victim["annotations"][ORIGIN], "named": f"uid:{identity}"}[forged]
    spec = {**PART, "identityRef": IDENTITY, "ports": [{"network": {"filter": {"name": "public"}}}]}
    meta = {"name": "m", "namespace": "tenant", "annotations": {ORIGIN: origin}, "labels": {OWNER: "x"}}
    world.cluster.put(SERVERS, {"metadata": meta, "spec": spec})
    await world.run(60)
    assert len(world.clouds.all("server")) == 2
    await world.cluster.delete(SERVERS, ("tenant", "m"))
    await world.run(60)
    assert [t.id for t in world.clouds.all("server")] == [server.id]
    assert NAMESPACE != "tenant"


async def test_a_machine_with_another_server_in_its_server_object_keeps_its_provider_id() -> None:
    world = await small()
    machine = world.get(MACHINES, "m") or {}
    other = "openstack:///6ba7b810-9dad-11d1-80b4-00c04fd430c8"
    world.cluster.put(MACHINES, {**machine, "spec": {**machine["spec"], "providerID": other}})
    await world.run(60)
    assert world.told(kind=MACHINES, name="m")[0] == "BlockedProviderIDMismatch"
    assert (world.get(MACHINES, "m") or {})["spec"]["providerID"] == other


async def test_a_later_cluster_of_the_same_name_adopts_nothing_of_a_moved_one() -> None:
    old = await small()
    await old.stop()
    moved = {(t.type, t.id) for t in old.clouds.all()}  # these belong to another Kubernetes cluster now
    world = old.again()
    world.cluster._objects = {at: obj for at, obj in world.cluster._objects.items() if at[0] not in KINDS}
    await make_another(world)
    assert {(t.type, t.id) for t in world.clouds.all()} == moved


async def of_earlier(monkeypatch: pytest.MonkeyPatch) -> Clusters:
    """A cluster whose resources have the UIDs of its objects as marks, observed once by this version."""

    async def none(reader: Any, obj: Any) -> str:
        return ""

    modules = [importlib.import_module(f"stackwright.controllers.{name}.observe") for name in OBSERVED]
    with monkeypatch.context() as earlier:
        for module in modules:
            earlier.setattr(module, "origin_of", none)
        old = await whole()
        await old.stop()
    upgraded = old.again()
    await upgraded.run(400)
    await upgraded.stop()
    assert {(t.type, t.id) for t in upgraded.clouds.all()} == {(t.type, t.id) for t in old.clouds.all()}
    return upgraded


async def test_a_cluster_of_an_earlier_version_is_adopted_where_it_is(monkeypatch: pytest.MonkeyPatch) -> None:
    world = await of_earlier(monkeypatch)
    things = {(t.type, t.id) for t in world.clouds.all()}
    for kind in (POOLS, CLUSTERS, MACHINES, SERVERS):
        for obj in world.cluster.all(kind):
            world.cluster.put(kind, {name: value for name, value in obj.items() if name != "status"})
    await world.run(300)
    assert {(t.type, t.id) for t in world.clouds.all()} == things
    for kind, name in ((CLUSTERS, "c"), (MACHINES, "cp"), (MACHINES, "m")):
        assert world.told(kind=kind, name=name)[0] == "Ready"


async def test_a_machine_of_an_earlier_version_that_is_moved_gets_no_other_server(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    """The machine's origin is an earlier UID, which any user could write."""
    old = await of_earlier(monkeypatch)
    world = restored(old)
    await world.run(300)
    names = [t.name for t in world.clouds.all("server")]
    assert (names.count("cp"), names.count("m")) == (1, 1)
    assert {(t.type, t.id) for t in old.clouds.all()} <= {(t.type, t.id) for t in world.clouds.all()}
    for name in ("cp", "m"):
        assert world.told(kind=MACHINES, name=name)[0] == "BlockedInstanceNotFound"
