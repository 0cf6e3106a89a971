"""Image pre-caching in the life of a cloud: before any release, on all reachable nodes, and never for one alone."""

from dataclasses import replace

import pytest

import tests.scenario.world as module
from stackwright.api.kinds import DAEMONSET, EVENT, POD, STATEFULSET
from stackwright.core.kubernetes import precache
from stackwright.core.settings import Settings
from stackwright.services.rabbitmq.kind import RabbitMQ
from tests.scenario.world import CONTROL_PLANE, EVERY_ROLE, NAMESPACE, SETTINGS, UNREADY, World, ready_world

pytestmark = pytest.mark.looptime
MEMCACHED = {"services": ["~identity", "~database", "~messaging"]}
RELEASE = (NAMESPACE, "openstack-memcached")
NEWER = Settings({**SETTINGS.images, "memcached": "example.org/memcached:2"}, SETTINGS.charts)


def held(world):
    pod = world.get(DAEMONSET, precache.NAME)["spec"]["template"]["spec"]
    return {volume["image"]["reference"] for volume in pod["volumes"]}


async def test_releases_wait_for_the_images_on_the_nodes_at_every_level():
    world = World()
    world.kubelet.broken[precache.NAME] = UNREADY
    world.cloud(features=MEMCACHED)
    await world.settle()
    assert world.helm.calls == []
    cause = "Waiting for images on 1 of 1 nodes (DaemonSet image-precaching)"
    assert world.condition("Images") == ("False", "Waiting", cause)
    assert cause in world.condition()[2]
    assert cause in world.condition("Ready", world.bundle("memcached"))[2]
    assert "image-precaching-node-1" in str(world.osdpl["status"]["health"]["image-precaching"])
    world.kubelet.broken.clear()
    world.kubelet.sync(DAEMONSET, precache.NAME)
    await world.settle()
    assert world.ready()


DENIED = {
    "phase": "Pending",
    "conditions": [{"type": "Ready", "status": "False", "reason": "ContainersNotReady"}],
    "containerStatuses": [
        {
            "name": "holder",
            "image": "pause:1",
            "state": {
                "waiting": {
                    "reason": "ImagePullBackOff",
                    "message": 'Back-off pulling image "example.org/x:1": ErrImagePull: failed to pull and unpack image'
                    ' "example.org/x:1": failed to resolve reference "example.org/x:1": unexpected status from HEAD'
                    " request to https://example.org/v2/x/manifests/1: 401 Unauthorized",
                }
            },
        }
    ],
}
CANNOT = "node node-1 cannot pull example.org/x:1: the registry denies access; check the pull Secret"


async def test_the_cloud_reports_why_its_images_cannot_be_pulled():
    world = World()
    world.kubelet.broken[precache.NAME] = DENIED
    world.cloud(features=MEMCACHED)
    await world.settle()
    text = f"Waiting for images on 1 of 1 nodes (DaemonSet image-precaching): {CANNOT}"
    assert world.condition("Images") == ("False", "RegistryDenied", text)
    assert world.condition() == ("False", "RegistryDenied", text)
    assert world.condition("Reconciling")[0] == "True"
    world.kubelet.broken.clear()
    world.kubelet.sync(DAEMONSET, precache.NAME)
    await world.settle()
    assert world.ready()


@pytest.mark.parametrize("name", [precache.NAME, "memcached"])
async def test_pods_that_pod_security_forbids_are_named_with_the_remedy(name):
    world = World()
    world.kubelet.broken[name] = UNREADY
    world.cloud(features=MEMCACHED)
    await world.run(60)
    kind = DAEMONSET if name == precache.NAME else STATEFULSET
    live = world.get(kind, name)
    counts = {"currentNumberScheduled": 0, "replicas": 0, "readyReplicas": 0}
    message = 'Error creating: pods "x" is forbidden: violates PodSecurity "restricted:latest": runAsNonRoot != true'
    about = {"kind": kind.kind, "uid": live["metadata"]["uid"]}
    meta = {"name": "refused", "namespace": NAMESPACE}
    world.cluster.put(EVENT, {"metadata": meta, "reason": "FailedCreate", "message": message, "involvedObject": about})
    world.cluster.put(kind, {**live, "status": {**live["status"], **counts}})
    await world.run(90)
    status, reason, text = world.condition()
    assert (status, reason) == ("False", "BlockedPodSecurity")
    assert f"{kind.kind} {name}: Pod Security restricted forbids its pods (runAsNonRoot != true)" in text
    assert text.endswith(
        f"kubectl label namespace {NAMESPACE} pod-security.kubernetes.io/enforce=privileged --overwrite"
    )
    world.kubelet.broken.clear()
    world.kubelet.sync(kind, name)
    await world.settle()
    assert world.ready()


async def test_a_node_that_is_away_explains_no_wait_for_images():
    world = World(nodes=2)
    world.kubelet.broken[precache.NAME] = DENIED
    world.cloud(features=MEMCACHED)
    await world.settle()
    world.node("node-1", EVERY_ROLE, ready=False)
    await world.settle()
    assert "node node-2 cannot pull" in world.condition("Images")[2]


NO_TRUE = 'OCI runtime create failed: exec: "true": executable file not found in $PATH'


async def test_the_cloud_reports_why_a_pod_with_its_images_does_not_start():
    world = World()
    ended = {"exitCode": 128, "reason": "StartError", "message": NO_TRUE}
    state = {"state": {"waiting": {"reason": "CrashLoopBackOff"}}, "lastState": {"terminated": ended}}
    first = {"name": "image-0", "image": "example.org/x:1", **state}
    world.kubelet.broken[precache.NAME] = {**DENIED, "containerStatuses": [], "initContainerStatuses": [first]}
    world.cloud(features=MEMCACHED)
    await world.settle()
    status, reason, message = world.condition("Images")
    assert (status, reason) == ("False", "Waiting") and message.endswith(NO_TRUE)


async def test_the_reason_of_a_service_whose_image_is_missing_reaches_the_cloud():
    world = World()
    waiting = {"reason": "ErrImagePull", "message": "manifest unknown"}
    broken = {
        **DENIED["containerStatuses"][0],
        "name": "main",
        "image": "example.org/y:2",
        "state": {"waiting": waiting},
    }
    world.kubelet.broken["memcached"] = {**DENIED, "containerStatuses": [broken]}
    world.cloud(features=MEMCACHED)
    await world.run(60)
    cannot = "node node-1 cannot pull example.org/y:2: the registry does not have it"
    for obj in (world.bundle("memcached"), None):
        status, reason, message = world.condition("Ready", obj) if obj else world.condition()
        assert (status, reason) == ("False", "ImageMissing") and message.endswith(cannot)
    await world.settle(patience=3000)
    status, reason, message = world.condition()
    assert (status, reason) == ("False", "BlockedImageMissing") and message.endswith(cannot)
    world.kubelet.broken.clear()
    world.kubelet.sync(STATEFULSET, "memcached")
    await world.settle()
    assert world.ready()


async def test_the_daemonset_has_the_images_of_all_services_of_the_cloud_only():
    world = await ready_world()
    names = ("keystone", "keystoneclient", "mariadb", "memcached", "rabbitmq")
    assert held(world) == {SETTINGS.images[name] for name in names}
    away = ("pause", "ovn", "ceph", "cinder", "etcd", "heat", "barbican", "designate", "pdns")
    whole = held(await ready_world(whole=True))
    assert not [image for image in whole if "missing" in image]
    assert whole == {image for name, image in SETTINGS.images.items() if name not in away}


async def test_a_lost_node_does_not_block_an_upgrade():
    world = await ready_world(features=MEMCACHED)
    world.node("node-2", CONTROL_PLANE)
    await world.settle()
    assert world.ready()
    world.node("node-2", CONTROL_PLANE, ready=False)
    await world.settle()
    assert not world.ready()
    assert world.condition("Images")[0] == "True"
    world.cloud(features=MEMCACHED, size="tiny")
    await world.settle()
    assert world.helm.calls == [("upgrade", RELEASE)]


def tolerating(key):
    tolerations = {"memcached": {"enabled": True, "tolerations": [{"key": key, "operator": "Exists"}]}}
    return {"services": {"memcached": {"memcached": {"values": {"pod": {"tolerations": tolerations}}}}}}


async def test_a_node_with_an_untolerated_taint_blocks_nothing():
    world = await ready_world(features=MEMCACHED)
    world.node("node-2", CONTROL_PLANE, taint="maintenance")
    await world.settle()
    assert world.ready(), world.condition()
    world.cloud(features=MEMCACHED, size="tiny")
    await world.settle()
    assert world.ready() and world.helm.calls == [("upgrade", RELEASE)]


async def test_a_node_with_a_tolerated_taint_has_the_images_too():
    world = await ready_world(features=MEMCACHED)
    world.node("node-2", CONTROL_PLANE, taint="maintenance")
    await world.settle()
    world.kubelet.start = 20.0
    world.cloud(features=MEMCACHED, **tolerating("maintenance"))
    await world.run(10)
    assert world.condition("Images")[2] == "Waiting for images on 2 of 2 nodes (DaemonSet image-precaching)"
    assert world.helm.calls == []
    await world.settle(patience=60)
    assert world.ready() and world.helm.calls == [("upgrade", RELEASE)]
    assert world.get(DAEMONSET, precache.NAME)["status"]["numberReady"] == 2
    assert "image-precaching-node-2" in world.names(POD)
    world.cloud(features=MEMCACHED)
    await world.settle(patience=60)
    assert world.ready()
    assert "tolerations" not in world.get(DAEMONSET, precache.NAME)["spec"]["template"]["spec"]
    assert "image-precaching-node-2" not in world.names(POD)


async def test_a_toleration_that_kubernetes_would_refuse_is_left_to_its_chart():
    world = await ready_world(features=MEMCACHED)
    world.cloud(features=MEMCACHED, **tolerating("no such/ key"))
    await world.settle()
    assert world.condition("Images")[0] == "True"
    assert "tolerations" not in world.get(DAEMONSET, precache.NAME)["spec"]["template"]["spec"]


async def test_a_new_node_is_awaited_until_it_has_the_images():
    world = await ready_world(features=MEMCACHED)
    world.kubelet.start = 20.0
    world.node("node-2", EVERY_ROLE)
    await world.run(5)
    assert world.condition("Images")[2] == "Waiting for images on 1 of 2 nodes (DaemonSet image-precaching)"
    assert world.ready(world.bundle("memcached")), "what is deployed is not looked at again"
    await world.settle(patience=60)
    assert world.ready()
    assert world.helm.calls == []


async def test_another_image_is_fetched_first_and_blocks_only_until_the_nodes_have_it(monkeypatch):
    world = await ready_world(features=MEMCACHED)
    await world.stop()
    monkeypatch.setattr(module, "SETTINGS", NEWER)
    world.kubelet.start = 20.0
    await world.run(10)
    assert world.helm.calls == []
    assert "Waiting for images on 1 of 1 nodes" in world.condition()[2]
    await world.settle(patience=60)
    assert world.helm.calls == [("upgrade", RELEASE)]
    assert world.ready()
    assert held(world) == {"example.org/memcached:2"}


async def test_an_override_of_an_image_is_fetched_as_well():
    world = await ready_world(features=MEMCACHED)
    values = {"images": {"tags": {"memcached": "example.org/own:7"}}}
    world.cloud(features=MEMCACHED, services={"memcached": {"memcached": {"values": values}}})
    await world.settle()
    assert world.ready()
    assert held(world) == {"example.org/own:7"}


async def test_a_cluster_that_gets_image_volumes_pulls_the_same_images_in_the_other_form():
    world = World()
    world.settings = replace(SETTINGS, precaching="init")
    world.cloud(features=MEMCACHED)
    await world.settle()
    pod = world.get(DAEMONSET, precache.NAME)["spec"]["template"]["spec"]
    assert [each["image"] for each in pod["initContainers"]] == [SETTINGS.images["memcached"]] and "volumes" not in pod
    assert world.ready()
    await world.stop()
    world.settings = SETTINGS
    await world.settle()
    assert world.ready() and held(world) == {SETTINGS.images["memcached"]}
    pod = world.get(DAEMONSET, precache.NAME)["spec"]["template"]["spec"]
    assert "initContainers" not in pod and len(pod["containers"][0]["volumeMounts"]) == 1
    assert world.helm.calls == [("upgrade", RELEASE)]


async def test_foreign_changes_of_the_daemonset_are_reverted():
    world = await ready_world(features=MEMCACHED)
    live = world.get(DAEMONSET, precache.NAME)
    live["spec"]["template"]["spec"]["volumes"] = []
    world.cluster.put(DAEMONSET, live)
    await world.settle()
    assert held(world) == {SETTINGS.images["memcached"]}
    assert world.ready() and world.helm.calls == []


async def test_a_service_object_without_a_cloud_waits_for_no_images():
    world = World()
    world.cluster.put(RabbitMQ.KIND, {"metadata": {"name": "mine", "namespace": NAMESPACE}, "spec": {}})
    await world.settle()
    assert world.ready(world.get(RabbitMQ.KIND, "mine"))
    assert world.get(DAEMONSET, precache.NAME) is None
    assert world.helm.calls == [("upgrade", (NAMESPACE, "openstack-mine"))]


async def test_the_daemonset_is_deleted_with_its_cloud():
    world = await ready_world(features=MEMCACHED)
    world.delete(module.OpenStackDeployment.KIND, "cloud")
    await world.settle()
    assert world.get(DAEMONSET, precache.NAME) is None
