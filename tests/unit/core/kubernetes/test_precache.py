"""Image pre-caching: the content of the DaemonSet, and when enough nodes have the images."""

import pytest

from stackwright.core.kubernetes import precache

CLOUD = {
    "apiVersion": "lcm.mirantis.com/v1alpha1",
    "kind": "OpenStackDeployment",
    "metadata": {"name": "cloud", "namespace": "openstack", "uid": "u"},
}


def node(ready="True", **labels):
    status = {"conditions": [{"type": "DiskPressure", "status": "False"}, {"type": "Ready", "status": ready}]}
    return {"metadata": {"name": "n", "labels": labels}, "status": status}


CONTROL = node(**{"openstack-control-plane": "enabled"})
COMPUTE = node(**{"openstack-compute-node": "enabled"})
LOST = node("Unknown", **{"openvswitch": "enabled"})
STRANGER = node()
SWITCHED_OFF = node(**{"openvswitch": "disabled"})


def holder(images=("a", "b"), generation=2, **status):
    made = precache.daemonset(CLOUD, images, "pause")
    made["metadata"]["generation"] = generation
    return {**made, "status": {"observedGeneration": 2, **status}}


def on(count, ready=None):
    return {"updatedNumberScheduled": count, "numberReady": count if ready is None else ready}


@pytest.mark.parametrize(
    ("found", "nodes", "images", "expected"),
    [
        (None, [], ["a"], "DaemonSet image-precaching: it does not exist"),
        (holder(**on(1)), [CONTROL], ["a"], ""),
        (holder(**on(1)), [CONTROL], ["a", "c", "d"], "DaemonSet image-precaching to name c, d"),
        (holder(**on(1)), [CONTROL, COMPUTE], ["a"], "images on 1 of 2 nodes (DaemonSet image-precaching)"),
        (holder(**on(2, ready=0)), [CONTROL, COMPUTE], [], "images on 2 of 2 nodes (DaemonSet image-precaching)"),
        # Pods of the former list of images are ready and hold other images.
        (holder(updatedNumberScheduled=1, numberReady=2), [CONTROL, COMPUTE], ["a"],
         "images on 1 of 2 nodes (DaemonSet image-precaching)"),
        (holder(), [CONTROL], [], "images on 1 of 1 nodes (DaemonSet image-precaching)"),
        # A status of an earlier list of images does not count.
        (holder(generation=3, **on(1)), [CONTROL], [], "images on 1 of 1 nodes (DaemonSet image-precaching)"),
        # Nodes that are away, or no part of the cloud, are not waited for.
        (holder(**on(1)), [CONTROL, LOST], ["a"], ""),
        (holder(), [LOST, STRANGER, SWITCHED_OFF], ["a"], ""),
        (holder(), [], [], ""),
    ],
)  # fmt: skip
def test_nodes_without_the_images_are_awaited(found, nodes, images, expected):
    assert precache.lacking(found, nodes, images) == expected


def pod_of(made):
    return made["spec"]["template"]["spec"]


@pytest.mark.parametrize("how", ["mounted", "unmounted"])
def test_its_pods_have_each_image_once_and_mount_all_or_none(how):
    pod = pod_of(precache.daemonset(CLOUD, {"b", "a", "c"}, "pause", how=how))
    assert [volume["image"]["reference"] for volume in pod["volumes"]] == ["a", "b", "c"]
    (container,) = pod["containers"]
    assert container["image"] == "pause" and "initContainers" not in pod
    mounts = container.get("volumeMounts", [])
    assert [mount["name"] for mount in mounts] == (
        [each["name"] for each in pod["volumes"]] if how == "mounted" else []
    )
    assert len({mount["mountPath"] for mount in mounts}) == len(mounts)
    assert all(mount["readOnly"] for mount in mounts)


def test_clusters_without_image_volumes_run_a_program_of_each_image():
    pod = pod_of(precache.daemonset(CLOUD, {"b", "a"}, "pause", how="init", idle={"b": ("/b", "-h"), "c": ("/c",)}))
    assert "volumes" not in pod and "volumeMounts" not in pod["containers"][0]
    assert [(each["image"], each["command"]) for each in pod["initContainers"]] == [
        ("a", ["true"]),
        ("b", ["/b", "-h"]),
    ]
    assert all(each["securityContext"] == pod["containers"][0]["securityContext"] for each in pod["initContainers"])


@pytest.mark.parametrize("how", ["mounted", "unmounted", "init"])
def test_each_form_holds_the_same_images(how):
    made = {**precache.daemonset(CLOUD, {"b", "a"}, "pause", how=how), "status": on(1)}
    assert precache.references(made) == {"a", "b", "pause"}
    assert precache.lacking(made, [CONTROL], ["a", "b"]) == ""
    assert precache.lacking(made, [CONTROL], ["c"]) == "DaemonSet image-precaching to name c"


def test_the_same_images_in_any_order_are_the_same_object():
    assert precache.daemonset(CLOUD, ["a", "b"], "p") == precache.daemonset(CLOUD, ["b", "a"], "p")
    assert precache.daemonset(CLOUD, ["a"], "p") != precache.daemonset(CLOUD, ["b"], "p")


def test_its_pods_have_no_rights_and_end_at_once():
    made = precache.daemonset(CLOUD, ["a"], "pause")
    pod = made["spec"]["template"]["spec"]
    assert pod["automountServiceAccountToken"] is False
    assert pod["securityContext"]["runAsNonRoot"] is True
    assert pod["terminationGracePeriodSeconds"] == 0
    security = pod["containers"][0]["securityContext"]
    assert security["capabilities"] == {"drop": ["ALL"]} and security["allowPrivilegeEscalation"] is False
    terms = pod["affinity"]["nodeAffinity"]["requiredDuringSchedulingIgnoredDuringExecution"]["nodeSelectorTerms"]
    assert {term["matchExpressions"][0]["key"] for term in terms} == set(precache.NODE_LABELS)


def test_images_are_those_that_values_name():
    assert precache.images_of({}) == set()
    assert precache.images_of({"images": {"tags": {"x": "a", "y": "b", "z": "a", "off": None}}}) == {"a", "b"}
