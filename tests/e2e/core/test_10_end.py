"""The end: the cloud's content is deleted, then the cloud with all its objects, then the state of the machine."""

from __future__ import annotations

from full import FullCloud
from harness import eventually

from stackwright.local.cluster.leftovers import leftovers

MINE = "configmap/mine"
LIMIT = 300


def test_deletion_deletes_all_resources_of_the_cloud_and_no_others(cloud: FullCloud) -> None:
    cloud.empty()
    cloud.kubectl("create", "configmap", "mine", "-n", cloud.namespace, "--from-literal=a=b")
    plan = cloud.stackwright("plan", "--delete", "cloud", "-n", cloud.namespace, code=2)
    for release in ("openstack-mariadb", "openstack-nova", "openstack-ceph"):
        assert release in plan
    cloud.kubectl("delete", "openstackdeployment", "cloud", "-n", cloud.namespace, limit=LIMIT)
    cloud.wait_gone(cloud.namespace, MINE, limit=LIMIT)
    assert MINE in cloud.left(cloud.namespace)
    cloud.kubectl("delete", "configmap", "mine", "-n", cloud.namespace)
    eventually(lambda: cloud.get("pv")["items"] == [], limit=60)


def test_down_leaves_nothing_running(cloud: FullCloud) -> None:
    cloud.stackwright("down", limit=LIMIT)
    assert not leftovers(cloud.cluster)
    assert cloud.cluster.kubeconfig.exists(), "data is kept"
