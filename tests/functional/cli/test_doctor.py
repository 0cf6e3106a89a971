"""`stackwright doctor` against a real API server, without nodes: its reads and its reviews of rights."""

from __future__ import annotations

import asyncio
import json
import uuid
from typing import Any

from typer.testing import CliRunner

from stackwright.adapters.kubernetes.client import KubernetesCluster
from stackwright.api.kinds import DAEMONSET, NAMESPACE, NODE, POD, SERVICE, STORAGE_CLASS
from stackwright.api.meta import Kind
from stackwright.cli.app import app
from stackwright.core.objects import key_of
from stackwright.examine.demand import Demand
from stackwright.examine.observe import observe
from stackwright.examine.probe import pod
from stackwright.examine.probe.run import PREFIX, Pace, examine
from stackwright.examine.rights import Right

SERVICE_ACCOUNT = Kind("", "v1", "ServiceAccount", "serviceaccounts")


async def doctor(kubeconfig: str, *words: str) -> tuple[int, dict[str, dict[str, Any]]]:
    """Exit code, and subject → finding."""
    command = ("doctor", "--kubeconfig", kubeconfig, "-o", "json", *words)
    result = await asyncio.to_thread(CliRunner().invoke, app, command)
    assert result.exception is None or isinstance(result.exception, SystemExit), result.output
    return result.exit_code, {each["subject"]: each for each in json.loads(result.stdout)}


async def test_a_cluster_without_anything_lacks_it_all(kubeconfig: str, cluster: KubernetesCluster) -> None:
    for left in await cluster.list(STORAGE_CLASS):  # of other tests on this server
        await cluster.delete(STORAGE_CLASS, key_of(left))
    code, found = await doctor(kubeconfig)
    assert code == 1
    assert found["Kubernetes"]["level"] == "ok"
    assert found["permissions"]["level"] == "ok"
    assert found["StorageClass"]["level"] == "problem"
    assert found["cluster DNS"]["level"] == "problem"
    assert found["label openstack-control-plane=enabled"]["level"] == "note"


async def test_a_real_server_accepts_image_volumes_and_answers_reviews(cluster: KubernetesCluster) -> None:
    default = {"metadata": {"namespace": "default", "name": "default"}}
    await cluster.apply(SERVICE_ACCOUNT, default, "test")  # no controller creates it here
    seen = await observe(cluster, [Right("", "secrets", "get")])
    assert seen.image_volumes == ""
    assert seen.version.startswith("v1.")
    assert seen.lacking == []
    assert seen.kinds, "the CRDs of this server are ours"


async def test_objects_of_the_cluster_answer_the_findings(kubeconfig: str, cluster: KubernetesCluster) -> None:
    name = f"doctor-{uuid.uuid4().hex[:8]}"
    storage = {
        "metadata": {"name": name, "annotations": {"storageclass.kubernetes.io/is-default-class": "true"}},
        "provisioner": "none",
        "volumeBindingMode": "WaitForFirstConsumer",
    }
    node = {"metadata": {"name": name, "labels": {"openstack-control-plane": "enabled"}}}
    ports = {"ports": [{"name": "dns", "port": 53, "protocol": "UDP"}]}
    dns = {"metadata": {"namespace": "kube-system", "name": name, "labels": {"k8s-app": "kube-dns"}}, "spec": ports}
    made = [(STORAGE_CLASS, storage), (NODE, node), (SERVICE, dns)]
    try:
        for kind, obj in made:
            await cluster.apply(kind, obj, "test")
        code, found = await doctor(kubeconfig)
        assert code == 1, "the node is not Ready"
        assert found[f"node {name}"]["level"] == "problem"
        assert found[f"StorageClass {name}"]["level"] == "ok"
        assert found["cluster DNS"]["level"] == "ok"
        assert "label openstack-control-plane=enabled" not in found
    finally:
        for kind, obj in made:
            await cluster.delete(kind, (obj["metadata"].get("namespace", ""), obj["metadata"]["name"]))


async def test_the_examination_of_nodes_is_accepted_and_removed(cluster: KubernetesCluster) -> None:
    """No kubelet runs here, so no node reports; the API server validates all objects, and Pod Security the pod."""
    seen: list[str] = []

    async def sleep(seconds: float) -> None:
        names = [each["metadata"]["name"] for each in await cluster.list(NAMESPACE)]
        mine = [name for name in names if name.startswith(PREFIX)]
        seen.extend([name for name in mine if await cluster.get(DAEMONSET, (name, "nodes"))])

    node = {"metadata": {"name": "a", "labels": {"kubernetes.io/os": "linux"}}}
    found = await examine(cluster, [node], "image", Demand(), lambda text: None, Pace(2, 0.0, sleep))
    assert [each.level for each in found] == ["problem"] and "time limit" in found[0].text
    assert len(seen) == 1
    left = await cluster.get(NAMESPACE, ("", seen[0]))
    assert left is None or left["metadata"].get("deletionTimestamp")


async def test_pod_security_accepts_the_pod(cluster: KubernetesCluster) -> None:
    name = f"doctor-{uuid.uuid4().hex[:8]}"
    await cluster.apply(NAMESPACE, pod.namespace(name), "test")
    await cluster.apply(SERVICE_ACCOUNT, {"metadata": {"namespace": name, "name": "default"}}, "test")
    template = pod.daemonset(name, "image", "print()")["spec"]["template"]
    try:
        await cluster.dry_run(POD, {"metadata": {"namespace": name, "name": "p"}, "spec": template["spec"]}, "test")
    finally:
        await cluster.delete(NAMESPACE, ("", name))
