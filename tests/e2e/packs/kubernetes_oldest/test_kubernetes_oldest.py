"""The full cloud on the oldest supported version of Kubernetes. It has no image volumes."""

from __future__ import annotations

import json

from full import HOLDER, FullCloud

from stackwright.core.kubernetes.versions import OLDEST, lacks_image_volumes, release


def test_the_cluster_runs_the_oldest_kubernetes(oldest_cloud: FullCloud) -> None:
    server = json.loads(oldest_cloud.kubectl("get", "--raw", "/version"))["gitVersion"]
    nodes = {each["status"]["nodeInfo"]["kubeletVersion"] for each in oldest_cloud.get("nodes")["items"]}
    assert release(server) == OLDEST
    assert nodes == {server}
    assert lacks_image_volumes(server)


def test_init_containers_pull_the_images_ahead(oldest_cloud: FullCloud) -> None:
    found = oldest_cloud.get("daemonset", HOLDER, "-n", oldest_cloud.namespace)
    used = {each["image"] for pod in oldest_cloud.pods().values() for each in pod["spec"]["containers"]}
    pulled = {each["image"] for each in found["spec"]["template"]["spec"]["initContainers"]}
    assert len(used & pulled) > 10
    assert "volumes" not in found["spec"]["template"]["spec"]
    assert found["status"]["numberReady"] == found["status"]["desiredNumberScheduled"] == 1


def test_the_cloud_works(oldest_cloud: FullCloud) -> None:
    assert oldest_cloud.condition()["status"] == "True"
    print(oldest_cloud.stackwright("smoke", limit=400))


def test_doctor_finds_no_problem(oldest_cloud: FullCloud) -> None:
    print(oldest_cloud.stackwright("doctor"))


def test_a_second_up_keeps_the_version_and_changes_nothing(oldest_cloud: FullCloud) -> None:
    before = oldest_cloud.revisions()
    oldest_cloud.stackwright("up")
    assert oldest_cloud.revisions() == before
    assert "No changes" in oldest_cloud.stackwright("plan")
    test_the_cluster_runs_the_oldest_kubernetes(oldest_cloud)
