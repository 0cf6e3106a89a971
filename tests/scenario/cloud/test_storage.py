"""Storage: the cloud's own Ceph and an external one, late and changed keys, removed back ends."""

import asyncio
import base64
import json
from itertools import pairwise

import pytest

from stackwright.api.kinds import CONFIGMAP, SECRET
from stackwright.api.services.contracts import CephClient
from stackwright.cloud.deployment import OpenStackDeployment
from stackwright.core.conditions import find, is_ready
from stackwright.core.objects import ORPHAN, OWNER, secret_data
from stackwright.services.ceph.kind import Ceph
from stackwright.services.ceph.values import GATEWAY_CREDENTIALS, HEALTH, KEYS, REQUESTS
from stackwright.services.ceph_rgw.kind import CephRGW
from stackwright.services.cinder.kind import Cinder
from stackwright.services.glance.kind import Glance
from tests.scenario.world import NAMESPACE, World, ready_world

pytestmark = pytest.mark.looptime
SHARED = "openstack-ceph-shared"
OWN = {"services": ["image", "ceph", "block-storage", "object-storage"]}
ELSEWHERE = {"services": ["image", "block-storage", "object-storage"]}
IN_FILES = {"services": ["image"]}


def asked(world, namespace):
    return json.loads(world.cluster.peek(CONFIGMAP, (namespace, REQUESTS))["data"]["requests.json"])["clients"]


def service(world, kind, name):
    return world.cluster.peek(kind.KIND, (NAMESPACE, name))


async def test_a_cloud_with_its_own_ceph_requests_clients_and_gets_them():
    world = await ready_world(features=OWN)
    assert {"ceph", "block-storage", "object-storage", "coordination"} <= set(world.osdpl["status"]["services"])
    clients = asked(world, NAMESPACE)
    assert set(clients) == {"glance", "cinder"}
    assert clients["cinder"]["caps"]["osd"] == "profile rbd pool=volumes, profile rbd-read-only pool=images"
    made = secret_data(world.cluster.peek(SECRET, (NAMESPACE, "cinder-ceph")))
    assert made["rbd.conf"].startswith("[rbd]\nrbd_pool = volumes\n")
    assert service(world, Glance, "glance")["status"]["backends"] == ["rbd"]


async def test_an_external_ceph_is_awaited_by_name_and_gets_the_credentials_of_its_gateway():
    world = World()
    world.ceph = False
    world.cloud(features=ELSEWHERE)
    await world.run(120)
    cause = find(service(world, Glance, "glance"))["message"]
    assert "the request is in ConfigMap openstack-ceph-shared/openstack-ceph-requests" in cause
    assert "rgw_external" in find(service(world, CephRGW, "ceph-rgw"))["message"]
    world.ceph = True
    requests = world.cluster.peek(CONFIGMAP, (SHARED, REQUESTS))
    world._hand_over("MODIFIED", CONFIGMAP, requests)
    await world.run(10)
    await world.settle(patience=1)
    assert is_ready(world.osdpl), find(world.osdpl)
    urls = world.accounts.identity.catalog["ceph-rgw"]["endpoints"]
    assert urls["public"] == "https://rgw.example.org/swift/v1/AUTH_%(project_id)s"
    handed_back = secret_data(world.cluster.peek(SECRET, (SHARED, GATEWAY_CREDENTIALS)) or {})
    assert handed_back == {}, "without an ingress there is no certificate to hand over"
    # The object is deleted with the cloud.
    world.cluster.remove(OpenStackDeployment.KIND, (NAMESPACE, "cloud"))
    await world.settle(patience=1)
    assert world.cluster.peek(CONFIGMAP, (SHARED, REQUESTS)) is None


async def test_a_new_key_reaches_the_clients_secret_and_nothing_else():
    world = await ready_world(features=OWN)
    before, installs = world.writes, len(world.helm.calls)
    keys = world.cluster.peek(SECRET, (NAMESPACE, KEYS))

    async def handed(text):
        encoded = base64.b64encode(text.encode()).decode()
        world.cluster.put(SECRET, {**keys, "data": {**keys["data"], "cinder": encoded}})
        await world.settle()
        return secret_data(world.cluster.peek(SECRET, (NAMESPACE, "cinder-ceph")))

    made = await handed("client.cinder;other;volumes:volumes:hdd;images:images:hdd")
    assert made["keyring"] == "[client.cinder]\n\tkey = other\n"
    assert len(world.helm.calls) == installs, "nothing is restarted for a key"
    assert world.writes - before <= 5
    made = await handed("client.cinder;other;fast:volumes:ssd;images:images:hdd")
    assert "rbd_pool = fast" in made["rbd.conf"]
    assert world.helm.calls[installs:] == [("upgrade", (NAMESPACE, "openstack-cinder"))], "pools are read at the start"


async def test_observations_of_the_watch_change_the_clouds_readiness_by_name():
    world = await ready_world(features=OWN)

    def watch(status, reason, message):
        entry = {"type": "Capacity", "status": status, "reason": reason, "message": message}
        there = world.cluster.peek(CONFIGMAP, (NAMESPACE, HEALTH))
        health = {"health.json": json.dumps({"conditions": [entry]})}
        world.cluster.put(CONFIGMAP, {**there, "data": health})

    watch(False, "PoolFull", "Pool volumes is full")
    await world.settle()
    assert find(service(world, Ceph, "ceph"))["reason"] == "PoolFull"
    assert find(world.osdpl)["message"] == "Ceph: Pool volumes is full"
    watch(True, "Ready", "")
    await world.settle()
    assert is_ready(world.osdpl)


async def test_a_cloud_is_not_ready_while_another_one_has_the_namespace_of_its_ceph():
    world = World()
    meta = {"namespace": SHARED, "name": REQUESTS, "annotations": {OWNER: "second/ceph"}}
    world.cluster.put(CONFIGMAP, {"metadata": meta, "data": {"requests.json": json.dumps({"clients": {}})}})
    data = dict.fromkeys(("mon_endpoints", "glance", "cinder", "nova"), base64.b64encode(b"of-the-second").decode())
    world.cluster.put(SECRET, {"metadata": {"namespace": SHARED, "name": KEYS}, "data": data})
    world.cloud(features=ELSEWHERE)
    await world.run(120)
    entry = find(service(world, Ceph, "ceph"))
    assert (entry["status"], entry["reason"]) == ("False", "BlockedTaken")
    clients = world.cluster.all(CephClient.KIND, NAMESPACE)
    assert {find(each, "Account")["reason"] for each in clients} == {"BlockedTaken"}
    assert not [each for each in clients if world.cluster.peek(SECRET, (NAMESPACE, each["spec"]["secretName"]))]
    assert world.condition("Ceph")[:2] == ("False", "BlockedTaken")
    assert "belongs to Ceph second/ceph" in world.condition()[2]
    world.cluster.remove(CONFIGMAP, (SHARED, REQUESTS))
    await world.run(30)
    await world.settle(patience=1)
    assert is_ready(world.osdpl), find(world.osdpl)


async def test_a_store_with_images_is_removed_only_with_an_annotation():
    world = await ready_world(features=IN_FILES)
    world.contents.things = {"images": ["guest", "debian"]}
    world.cloud(features=OWN)
    await world.settle(patience=1)
    entry = find(service(world, Glance, "glance"), "Backends")
    assert (entry["status"], entry["reason"]) == ("False", "BlockedWouldOrphan")
    assert entry["message"] == (
        "images contains 2 (debian, guest), which would become inaccessible. "
        "Keep the back end, move or delete its content, or "
        "annotate OpenStackDeployment openstack/cloud with stackwright.dev/orphan=glance/images"
    )
    assert service(world, Glance, "glance")["status"]["backends"] == ["images"]
    world.contents.things = {}  # another client deleted them
    await world.run(90)
    await world.settle()
    assert service(world, Glance, "glance")["status"]["backends"] == ["rbd"]


async def test_a_removed_store_in_ceph_keeps_its_client_until_the_release_is_updated():
    world = await ready_world(features=OWN)
    world.contents.things = {"rbd": ["guest"]}
    files = {"images": {"default": True, "pvc": {"size": "1Gi"}}}
    world.cloud(features={**OWN, "glance": {"backends": {"file": files}}})
    await world.settle(patience=1)
    assert find(service(world, Glance, "glance"), "Backends")["reason"] == "BlockedWouldOrphan"
    assert {"glance", "cinder"} <= set(asked(world, NAMESPACE))
    world.contents.things = {}
    await world.run(90)
    await world.settle()
    assert service(world, Glance, "glance")["status"]["backends"] == ["images"]
    assert set(asked(world, NAMESPACE)) == {"cinder"}


async def test_a_ceph_with_data_of_a_service_is_removed_after_the_service_has_left_it():
    world = await ready_world(features=OWN)
    world.contents.things = {"rbd": ["guest"]}
    world.cloud(features=IN_FILES)
    await world.run(300)
    assert find(service(world, Glance, "glance"), "Backends")["reason"] == "BlockedWouldOrphan"
    assert service(world, Ceph, "ceph") and service(world, Cinder, "cinder") is None
    assert world.condition("Removal") == (
        "False", "InUse", "Ceph is no longer requested, but kept until its clients are removed: openstack/glance",
    )  # fmt: skip
    world.contents.things = {}
    await world.run(400)
    assert service(world, Glance, "glance")["status"]["backends"] == ["images"]
    assert service(world, Ceph, "ceph") is None
    assert world.ready(), world.condition()


async def test_a_ceph_that_is_not_of_the_cloud_does_not_hold_it():
    """A user's own Ceph object, with a client of the user."""
    world = await ready_world()
    world.cluster.put(Ceph.KIND, {"metadata": {"namespace": NAMESPACE, "name": "own"}, "spec": {}})
    client = {
        "instance": "own",
        "client": "mine",
        "secretName": "mine",
        "pools": [{"name": "volumes", "role": "volumes"}],
    }
    world.cluster.put(CephClient.KIND, {"metadata": {"namespace": NAMESPACE, "name": "mine"}, "spec": client})
    await world.run(120)
    assert find(world.osdpl, "Removal") is None
    assert world.ready(), world.condition()


async def test_a_store_is_removed_with_its_images_if_the_cloud_permits_it():
    world = await ready_world(features=IN_FILES)
    world.contents.things = {"images": ["guest"]}
    world.cloud(features=OWN)
    world.cluster.put(
        OpenStackDeployment.KIND,
        {**world.osdpl, "metadata": {**world.osdpl["metadata"], "annotations": {ORPHAN: "glance/images"}}},
    )
    await world.settle()
    assert is_ready(world.osdpl), find(world.osdpl)
    assert service(world, Glance, "glance")["status"]["backends"] == ["rbd"]
    assert service(world, Cinder, "cinder")["status"]["backends"] == ["rbd"]


async def test_a_cloud_with_its_own_ceph_leaves_neither_keys_nor_health_behind():
    world = await ready_world(features=OWN)
    world.delete(OpenStackDeployment.KIND, "cloud")
    await world.run(120)
    assert world.cluster.peek(SECRET, (NAMESPACE, KEYS)) is None
    assert world.cluster.peek(CONFIGMAP, (NAMESPACE, HEALTH)) is None


SECOND = {"values": {"conf": {"backends": {"second": {"volume_driver": "cinder.volume.drivers.rbd.RBDDriver"}}}}}
RBD_TOO = {"values": {"conf": {"backends": {"rbd": {"volume_driver": "cinder.volume.drivers.rbd.RBDDriver"}}}}}
TWO = {**OWN, "cinder": {"volume": {"backends": {"rbd": RBD_TOO, "second": SECOND}}}}
REMOVALS = [  # features before and after, and the back end that the change removes
    pytest.param(Glance, "glance", IN_FILES, OWN, "images", id="glance"),
    pytest.param(Cinder, "cinder", TWO, OWN, "second", id="cinder"),
]


def upgraded(world, name):
    return [call for call in world.helm.calls if call == ("upgrade", (NAMESPACE, f"openstack-{name}"))]


def listing(world, monkeypatch, seconds=0.0, answers=None):
    """Records the time of each inventory, which takes this long; `answers` maps its number to a wrong answer."""
    ended, original = [], world.contents.held

    async def held(action, admin):
        await asyncio.sleep(seconds)
        ended.append(world.clock.now())
        return (answers or {}).get(len(ended)) or await original(action, admin)

    monkeypatch.setattr(world.contents, "held", held)
    return ended


@pytest.mark.parametrize("seconds", [31.0, 299.0])
async def test_an_empty_back_end_is_removed_however_long_an_inventory_takes(seconds, monkeypatch):
    world = await ready_world(features=IN_FILES)
    ended = listing(world, monkeypatch, seconds)
    world.cloud(features=OWN)
    await world.run(1800)
    assert service(world, Glance, "glance")["status"]["backends"] == ["rbd"]
    assert len(ended) <= 3


async def test_the_content_of_a_back_end_in_use_is_listed_with_growing_pauses(monkeypatch):
    world = await ready_world(features=IN_FILES)
    world.contents.things = {"images": ["guest"]}
    ended = listing(world, monkeypatch, 31.0)
    world.cloud(features=OWN)
    await world.run(3600)
    pauses = [after - before - 31.0 for before, after in pairwise(ended)]
    assert 29 <= min(pauses) <= 45 and max(pauses) >= 290
    assert len(ended) <= 25
    assert find(service(world, Glance, "glance"), "Backends")["reason"] == "BlockedWouldOrphan"
    world.contents.things = {}
    await world.run(400)
    assert service(world, Glance, "glance")["status"]["backends"] == ["rbd"]


@pytest.mark.parametrize(("kind", "name", "before", "after", "store"), REMOVALS)
@pytest.mark.parametrize("wrong", [1, 3])
async def test_one_wrong_empty_list_removes_no_back_end(kind, name, before, after, store, wrong, monkeypatch):
    """A replica of an API that has just started may return an empty list with 200."""
    world = await ready_world(features=before)
    world.contents.things = {store: ["guest"]}
    ended = listing(world, monkeypatch, answers={wrong: {store: []}})
    world.cloud(features=after)
    upgrades = len(upgraded(world, name))
    await world.run(300)
    assert len(ended) > wrong + 1
    assert store in service(world, kind, name)["status"]["backends"]
    assert len(upgraded(world, name)) == upgrades
    assert find(service(world, kind, name), "Backends")["reason"] == "BlockedWouldOrphan"


@pytest.mark.parametrize(("kind", "name", "before", "after", "store"), REMOVALS)
async def test_a_short_list_and_an_empty_one_remove_no_back_end(kind, name, before, after, store, monkeypatch):
    world = await ready_world(features=before)
    world.contents.things = {store: ["debian", "guest", "ubuntu"]}
    answers = {2: {store: ["guest"]}, 3: {store: []}, 5: {store: []}}
    ended = listing(world, monkeypatch, answers=answers)
    world.cloud(features=after)
    upgrades = len(upgraded(world, name))
    await world.run(300)
    assert len(ended) > max(answers)
    assert store in service(world, kind, name)["status"]["backends"]
    assert len(upgraded(world, name)) == upgrades
    world.contents.things = {}
    await world.run(400)
    assert store not in service(world, kind, name)["status"]["backends"]
