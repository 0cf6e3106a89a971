"""Deletion deletes all objects of the cloud and no others, at any moment; and services without a cloud."""

from __future__ import annotations

from harness import SMALL, Cloud, eventually, run

from stackwright.local import tools


def test_services_work_without_a_cloud(cloud: Cloud) -> None:
    cloud.kubectl("apply", "--server-side", "-f", "examples/keystone-only.yaml")
    cloud.kubectl("wait", "--for=condition=Ready", "keystone/keystone", "-n", "keystone-only", "--timeout=180s")
    pod = ("exec", "-n", "keystone-only", "deployment/keystone-client", "--")
    assert "project_id" in cloud.kubectl(*pod, "openstack", "token", "issue")


def test_glance_works_alone_with_an_existing_keystone(cloud: Cloud) -> None:
    """Uses the Keystone of the test above."""
    cloud.kubectl("apply", "--server-side", "-f", "examples/keystone-only.yaml")
    cloud.kubectl("apply", "--server-side", "-f", "examples/glance-standalone.yaml")
    try:
        cloud.kubectl(
            "wait", "--for=condition=Ready", "glance/glance", "-n", "keystone-only", "--timeout=300s", limit=310
        )
        script = (
            "head -c 2000000 /dev/urandom > up && "
            "openstack image create --disk-format raw --container-format bare --file up mine && "
            "openstack image save --file down mine && openstack image delete mine && "
            'test "$(sha256sum < up)" = "$(sha256sum < down)" && echo the same'
        )
        pod = ("exec", "-n", "keystone-only", "deployment/keystone-client", "--", "sh", "-c", script)
        assert "the same" in cloud.kubectl(*pod)
        assert cloud.kubectl("get", "openstackdeployments", "-n", "keystone-only", "-o", "name").strip() == ""
        cloud.kubectl("delete", "-f", "examples/glance-standalone.yaml", limit=120)
        eventually(lambda: cloud.traces("keystone-only", "glance", "rabbitmq") == [], limit=180, pause=1)
        assert cloud.get("keystone", "keystone", "-n", "keystone-only"), "and the Keystone goes on"
    finally:
        cloud.kubectl("delete", "-f", "examples/keystone-only.yaml", limit=120)


def test_a_cloud_of_memcached_alone(cloud: Cloud) -> None:
    cloud.stackwright("apply", "-f", "examples/memcached-only.yaml", "--wait")
    assert cloud.osdpl("cache", "memcached-only")["status"]["progress"] == "1/1"
    cloud.kubectl("delete", "-f", "examples/memcached-only.yaml", limit=120)


def test_deletion_deletes_all_resources_of_the_cloud_and_no_others(cloud: Cloud) -> None:
    cloud.kubectl("create", "configmap", "mine", "-n", "openstack", "--from-literal=a=b")
    plan = cloud.stackwright("plan", "--delete", "cloud", "-n", "openstack", code=2)
    assert "openstack-mariadb" in plan
    cloud.kubectl("delete", "openstackdeployment", "cloud", "-n", "openstack")
    try:
        cloud.wait_gone("openstack", "configmap/mine")
        assert "configmap/mine" in cloud.left("openstack")
    finally:
        cloud.kubectl("delete", "configmap", "mine", "-n", "openstack")
    eventually(lambda: cloud.get("pv")["items"] == [], limit=60)


def test_deletion_while_half_installed(cloud: Cloud) -> None:
    for releases in (0, 1, 3, 4):  # of five: three start in parallel, Keystone's when its database exists
        cloud.kubectl("apply", "--server-side", "-f", SMALL)
        cloud.wait_for_releases(releases)
        print(f"deleted with {sorted(cloud.revisions())}")
        cloud.kubectl("delete", "openstackdeployment", "cloud", "-n", "openstack", limit=300)
    cloud.wait_gone("openstack")
    cloud.stackwright("apply", "-f", SMALL, "--wait")
    assert cloud.token()


def test_the_controllers_also_run_as_six_containers_of_one_pod(cloud: Cloud) -> None:
    containers = "{.items[*].spec.containers[*].name}"
    helm_upgrade(cloud, "split")
    try:
        names = cloud.kubectl("get", "pods", "-n", "stackwright", "-o", f"jsonpath={containers}").split()
        assert set(names) == {"osdpl", "helmbundle", "health", "secrets", "node", "servers"}
        cloud.kubectl("delete", "pod", "memcached-0", "-n", "openstack")
        cloud.patch_spec({"services": {"identity": {"keystone": {"values": {"pod": {"replicas": {"api": 2}}}}}}})
        cloud.wait_ready()
        assert cloud.get("deployment", "keystone-api", "-n", "openstack")["status"]["readyReplicas"] == 2
    finally:
        cloud.patch_spec({"services": None})
        helm_upgrade(cloud, "single")
    cloud.wait_ready()


def helm_upgrade(cloud: Cloud, mode: str) -> None:
    words = ("upgrade", "stackwright", "charts/stackwright", "-n", "stackwright", "--reuse-values", "--wait")
    config = ("--kubeconfig", cloud.cluster.kubeconfig, "--timeout", "3m")
    done = run(tools.binary("helm"), *words, *config, "--set", f"controllers.mode={mode}", limit=200)
    assert done.code == 0, done.out
