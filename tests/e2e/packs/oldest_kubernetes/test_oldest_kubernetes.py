"""The oldest Kubernetes that the charts are for, which has no image volumes: from a registry to a virtual machine.

The tests depend on each other, in this order.
"""

from __future__ import annotations

import json
from collections.abc import Iterator

import pytest
from foreign.site import Site, site
from harness import Cloud

from stackwright.local.steps.openstack.operator import OLDEST


@pytest.fixture(scope="module")
def place(oldest_cluster: Cloud, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Site]:
    with site(oldest_cluster, tmp_path_factory.mktemp("registry")) as made:
        print(made.push())
        yield made


def test_doctor_accepts_the_version(place: Site) -> None:
    words = ("doctor", "--kubeconfig", str(place.cloud.cluster.kubeconfig), "-o", "json")
    found = {each["subject"]: each for each in json.loads(place.cloud.stackwright(*words, code=None))}
    assert found["Kubernetes"]["level"] == "ok"
    assert f"v{'.'.join(map(str, OLDEST))}." in found["Kubernetes"]["text"]
    assert "init containers" in found["image volumes"]["text"]


def test_a_cloud_is_created_whose_machine_answers(place: Site) -> None:
    place.install()
    place.create()


def test_init_containers_pulled_its_images_to_the_nodes(place: Site) -> None:
    cloud = place.cloud
    spec = cloud.get("daemonset", "image-precaching", "-n", cloud.namespace)["spec"]["template"]["spec"]
    pods = cloud.get("pods", "-n", cloud.namespace)["items"]
    used = {each["image"] for pod in pods for each in pod["spec"]["containers"]}
    assert {each["image"] for each in spec["initContainers"]} >= used - {spec["containers"][0]["image"]}
    assert not any("image" in volume for volume in spec.get("volumes") or ())


def test_a_second_look_finds_nothing_to_change(place: Site) -> None:
    assert "No changes" in place.cloud.stackwright("plan")
    place.cloud.stackwright("smoke", limit=900)
