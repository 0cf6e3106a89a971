"""What clouds need, computed from their manifests and the declarations of services."""

from __future__ import annotations

from decimal import Decimal
from typing import Any

import yaml

from stackwright.api.kinds import SECRET
from stackwright.api.meta import Kind
from stackwright.cloud.deployment import OpenStackDeployment
from stackwright.core.errors import TerminalError, TransientError
from stackwright.core.objects import MANAGED
from stackwright.core.plan import HelmUpgrade, Key, Object
from stackwright.core.secrets.cephkeys import MONITORS
from stackwright.core.settings import Settings
from stackwright.examine.demand import Demand, of_manifests, of_services, requested
from stackwright.runtime.memory import MemoryCluster, ceph
from stackwright.services.ceph.values import KEYS
from stackwright.services.context import COMPUTE, CONTROL_PLANE, GATEWAY, OPENVSWITCH
from stackwright.services.registry import SERVICES
from support.paths import ROOT

SETTINGS = Settings(charts={chart.name: "1" for each in SERVICES for chart in each.charts})
PRODUCTION = (ROOT / "examples/production.yaml").read_text()
CERTIFICATE = ("openstack", "public-certificate", dict.fromkeys(("ca.crt", "tls.crt", "tls.key"), "eA=="))
CEPH = ("openstack-ceph-shared", KEYS, ceph.blank((MONITORS, "glance", "cinder", "nova")))
NOW = 1_700_000_000.0
CLOUD: dict[str, Any] = {
    "apiVersion": "lcm.mirantis.com/v1alpha1",
    "kind": "OpenStackDeployment",
    "metadata": {"namespace": "a", "name": "cloud"},
    "spec": {"openstack_version": "epoxy", "preset": "core", "size": "single", "internal_domain_name": "k8s.example"},
}
WORKLOADS = """\
apiVersion: apps/v1
kind: Deployment
metadata: {name: api}
spec:
  replicas: 3
  template:
    spec:
      nodeSelector: {zone: a}
      containers:
        - {name: a, resources: {requests: {cpu: 100m, memory: 1Gi}}}
        - {name: b, resources: {limits: {memory: 1Gi}}}
---
apiVersion: apps/v1
kind: DaemonSet
metadata: {name: agent}
spec: {template: {spec: {hostNetwork: true, containers: [{name: a}]}}}
---
apiVersion: batch/v1
kind: Job
metadata: {name: job}
spec: {template: {spec: {containers: [{name: a, resources: {requests: {cpu: 100}}}]}}}
---
apiVersion: networking.k8s.io/v1
kind: IngressClass
metadata: {name: openstack-ingress}
"""


async def rendered(action: HelmUpgrade) -> str:
    return WORKLOADS if action.release[1] == "openstack-keystone" else ""


async def demand(*clouds: dict[str, Any], **more: Any) -> Demand:
    given = [(OpenStackDeployment.KIND, each) for each in clouds]
    return await of_manifests(MemoryCluster(), given, SETTINGS, NOW, **more)


async def test_labels_classes_and_domains_of_a_cloud_are_those_of_its_services() -> None:
    spec = {**CLOUD["spec"], "local_volume_storage_class": "ssd"}
    found = await demand({**CLOUD, "spec": spec}, render=None)
    assert found.clouds == {("a", "cloud"): "OpenStackDeployment"}
    assert set(found.labels) == {CONTROL_PLANE, COMPUTE, GATEWAY, OPENVSWITCH}
    assert found.modules == {COMPUTE: {"kvm"}, OPENVSWITCH: {"openvswitch"}}
    assert "keystone" in found.labels[CONTROL_PLANE] and "ceph" not in found.labels[CONTROL_PLANE]
    assert "a/openstack-mariadb" in found.classes["ssd"]
    assert found.domains == {"k8s.example"}
    assert found.pods is None and found.stuck == {}


async def production(cluster: MemoryCluster, *more: tuple[Kind, Any]) -> dict[str, str]:
    """Object → reason of all that would not become ready of the example for production."""
    [cloud] = [each for each in yaml.safe_load_all(PRODUCTION) if each["kind"] == "OpenStackDeployment"]
    found = await of_manifests(cluster, [(OpenStackDeployment.KIND, cloud), *more], SETTINGS, NOW, None)
    return {name: cause.reason for name, cause in found.stuck.items()}


def secret(namespace: str, name: str, data: dict[str, str], **labels: str) -> dict[str, Any]:
    meta = {"namespace": namespace, "name": name, "labels": labels}
    return {"metadata": meta, "data": data}


async def test_secrets_of_users_are_those_of_the_cluster() -> None:
    """Doctor reported a Secret as missing after the user had created it as it asked."""
    assert set((await production(MemoryCluster())).values()) == {"BlockedMissingSecret", "WaitingForCeph"}
    cluster = MemoryCluster()
    cluster.put(SECRET, secret(*CERTIFICATE))
    assert set((await production(cluster)).values()) == {"WaitingForCeph"}
    cluster.put(SECRET, secret(*CEPH))
    assert await production(cluster) == {}


async def test_secrets_of_another_namespace_may_be_in_the_manifests() -> None:
    assert set((await production(MemoryCluster(), (SECRET, secret(*CEPH)))).values()) == {"BlockedMissingSecret"}


async def test_secrets_of_a_former_cloud_and_unreadable_ones_are_missing() -> None:
    cluster = MemoryCluster()
    cluster.put(SECRET, secret(*CERTIFICATE, **MANAGED))
    assert "BlockedMissingSecret" in (await production(cluster)).values()

    class Forbidden(MemoryCluster):
        async def get(self, kind: Kind, key: Key) -> Object | None:
            raise TransientError("forbidden") if key[0] == "openstack" else TerminalError("forbidden")

    assert "BlockedMissingSecret" in (await production(Forbidden())).values()
    assert (await demand(CLOUD, render=None)).hidden == {}
    [cloud] = [each for each in yaml.safe_load_all(PRODUCTION) if each["kind"] == "OpenStackDeployment"]
    found = await of_manifests(Forbidden(), [(OpenStackDeployment.KIND, cloud)], SETTINGS, NOW, None)
    shared = ("openstack-ceph-shared", "openstack-ceph-keys")
    assert found.hidden == {("openstack", "public-certificate"): "forbidden", shared: "forbidden"}


async def test_pods_are_those_of_the_rendered_workloads_that_stay() -> None:
    api, agent = (found := await demand(CLOUD, render=rendered)).pods or ()
    assert (api.name, api.count, api.selector, api.host) == ("a/api", 3, {"zone": "a"}, False)
    assert (api.cpu, api.memory) == (Decimal("0.1"), 2 * Decimal(1 << 30))
    assert (agent.count, agent.host) == (None, True)
    assert found.ingress_classes == {"openstack-ingress": ("a", "openstack-keystone")}


HOSTED = """\
plain: {containers: [{name: a, ports: [{containerPort: 80}], securityContext: {}}], volumes: [{name: v, emptyDir: {}}]}
path: {containers: [{name: a}], volumes: [{name: v, hostPath: {path: /dev}}]}
privileged: {containers: [{name: a, securityContext: {privileged: true}}]}
init: {containers: [{name: a}], initContainers: [{name: b, securityContext: {privileged: true}}]}
port: {containers: [{name: a, ports: [{containerPort: 80, hostPort: 80}]}]}
processes: {hostPID: true, containers: [{name: a}]}
"""


async def test_pods_that_use_their_node_are_known() -> None:
    """Pod Security's level `baseline` refuses them."""
    pods = yaml.safe_load(HOSTED)
    docs = [
        {"kind": "Deployment", "metadata": {"name": name}, "spec": {"template": {"spec": each}}}
        for name, each in pods.items()
    ]

    async def render(action: HelmUpgrade) -> str:
        return yaml.safe_dump_all(docs) if action.release[1] == "openstack-keystone" else ""

    found = (await demand(CLOUD, render=render)).pods or ()
    assert {each.name.partition("/")[2] for each in found if each.host} == pods.keys() - {"plain"}
    assert len(found) == len(pods)


async def test_clouds_of_several_namespaces_are_added() -> None:
    other = {**CLOUD, "metadata": {"namespace": "b", "name": "cloud"}}
    found = await demand(CLOUD, other, render=rendered)
    assert found.namespaces == ["a", "b"]
    assert [pods.name for pods in found.pods or ()] == ["a/api", "a/agent", "b/api", "b/agent"]


async def test_a_service_that_is_not_part_of_the_cloud_needs_no_label() -> None:
    text = (ROOT / "examples/identity.yaml").read_text()
    [cloud] = [each for each in yaml.safe_load_all(text) if each["kind"] == "OpenStackDeployment"]
    found = await demand(cloud, render=None)
    assert set(found.labels) == {CONTROL_PLANE} and found.modules == {}


def test_without_manifests_the_labels_are_those_of_all_services() -> None:
    found = of_services(SERVICES)
    assert set(found.labels) == {label for each in SERVICES for label in each.node_labels}
    assert not found.clouds


def test_a_pod_requests_the_larger_of_its_init_containers_and_of_all_others() -> None:
    def container(cpu: str, **more: str) -> dict[str, Any]:
        return {"resources": {"requests": {"cpu": cpu}}, **more}

    pod = {"containers": [container("1"), container("500m")], "initContainers": [container("2")]}
    assert requested(pod, "cpu") == 2
    pod["initContainers"] = [container("1", restartPolicy="Always")]
    assert requested(pod, "cpu") == Decimal("2.5")
    assert requested({"containers": [container("many")]}, "cpu") == 0
