"""The provisioner as a program, with the rights of its chart, against a real API server and Kubernetes' own binder."""

from __future__ import annotations

import asyncio
import contextlib
import json
import os
import subprocess
import sys
import uuid
from collections.abc import AsyncIterator, Awaitable, Callable
from pathlib import Path
from typing import Any

import pytest
import pytest_asyncio
import yaml
from lightkube.core.generic_client import BasicRequest

from stackwright.adapters.kubernetes.client import KubernetesCluster
from stackwright.api.kinds import NAMESPACE, NODE, PV, PVC, STORAGE_CLASS
from stackwright.api.meta import Kind
from support.paths import GOLDEN

GROUP = "rbac.authorization.k8s.io"
KINDS = {
    "ClusterRole": Kind(GROUP, "v1", "ClusterRole", "clusterroles", namespaced=False),
    "ClusterRoleBinding": Kind(GROUP, "v1", "ClusterRoleBinding", "clusterrolebindings", namespaced=False),
    "ServiceAccount": Kind("", "v1", "ServiceAccount", "serviceaccounts"),
    "StorageClass": STORAGE_CLASS,
}
RENDERED = GOLDEN / "charts/local-volume-provisioner/default/rendered.yaml"
LIMIT = 30.0


async def until(look: Callable[[], Awaitable[Any]], what: str) -> Any:
    try:
        async with asyncio.timeout(LIMIT):
            while not (found := await look()):
                await asyncio.sleep(0.1)
            return found
    except TimeoutError:
        raise AssertionError(f"{what} did not come in {LIMIT:.0f} s") from None


async def account(cluster: KubernetesCluster, admin: str, folder: Path) -> Path:
    """The objects of the chart, and a kubeconfig with the token of its ServiceAccount."""
    await cluster.apply(NAMESPACE, {"metadata": {"name": "openstack"}}, "test")
    for obj in yaml.safe_load_all(RENDERED.read_text()):
        if obj["kind"] in KINDS:
            await cluster.apply(KINDS[obj["kind"]], obj, "test")
    url = "api/v1/namespaces/openstack/serviceaccounts/local-volume-provisioner/token"
    body = {"apiVersion": "authentication.k8s.io/v1", "kind": "TokenRequest", "spec": {"expirationSeconds": 3600}}
    client = cluster._client
    answer = await client._client.send(client.build_adapter_request(BasicRequest("POST", url, data=body)))
    config = yaml.safe_load(Path(admin).read_text())
    config["users"][0]["user"] = {"token": json.loads(answer.content)["status"]["token"]}
    path = folder / "provisioner.kubeconfig"
    path.write_text(json.dumps(config))
    return path


@contextlib.asynccontextmanager
async def program(argv: list[str], log: Path) -> AsyncIterator[subprocess.Popen[bytes]]:
    with log.open("wb") as out:
        process = subprocess.Popen(argv, stdout=out, stderr=out)
    try:
        yield process
    finally:
        process.kill()
        process.wait()


@pytest_asyncio.fixture
async def binder(kubeconfig: str, tmp_path: Path) -> AsyncIterator[None]:
    """Kubernetes' own controllers of volumes; an existing cluster already has them."""
    if os.environ.get("STACKWRIGHT_TEST_KUBECONFIG"):
        yield
        return
    from stackwright.local import tools

    controllers = "persistentvolume-binder-controller,persistentvolumeclaim-protection-controller"
    controllers += ",persistentvolume-protection-controller"
    argv = [str(tools.binary("kube-controller-manager")), f"--kubeconfig={kubeconfig}", "--secure-port=0"]
    argv += ["--leader-elect=false", f"--controllers={controllers}"]
    async with program(argv, tmp_path / "controller-manager.log"):
        yield


def claim(name: str, node: str) -> dict[str, Any]:
    annotations = {"volume.kubernetes.io/selected-node": node}
    spec = {
        "storageClassName": "stackwright-local",
        "accessModes": ["ReadWriteOnce"],
        "resources": {"requests": {"storage": "1Gi"}},
    }
    return {"metadata": {"namespace": "openstack", "name": name, "annotations": annotations}, "spec": spec}


@pytest.mark.usefixtures("binder")
async def test_a_volume_from_claim_to_removal(cluster: KubernetesCluster, kubeconfig: str, tmp_path: Path) -> None:
    node, root = f"n-{uuid.uuid4().hex[:8]}", tmp_path / "volumes"
    root.mkdir()
    (root / "precious").write_text("x")
    labels = {"kubernetes.io/hostname": f"host-of-{node}"}
    await cluster.apply(NODE, {"metadata": {"name": node, "labels": labels}}, "test")
    rights = await account(cluster, kubeconfig, tmp_path)
    argv = [str(Path(sys.executable).with_name("stackwright")), "provisioner", f"--node={node}", f"--path={root}"]
    async with program([*argv, f"--kubeconfig={rights}"], tmp_path / "provisioner.log"):
        made = await cluster.apply(PVC, claim(node, node), "test")
        await cluster.apply(PVC, claim(f"{node}-other", "another-node"), "test")
        name, directory = f"pvc-{made['metadata']['uid']}", root / made["metadata"]["uid"]

        async def bound() -> Any:
            found = await cluster.get(PVC, ("openstack", node))
            return found and found["status"]["phase"] == "Bound" and await cluster.get(PV, ("", name))

        volume = await until(bound, "a bound claim")
        assert volume["spec"]["local"]["path"] == str(directory)
        assert directory.is_dir()
        (directory / "data").write_text("x")
        other = await cluster.get(PVC, ("openstack", f"{node}-other"))
        assert other
        assert other["status"]["phase"] == "Pending"
        await cluster.delete(PVC, ("openstack", node))

        async def gone() -> bool:
            return await cluster.get(PV, ("", name)) is None

        await until(gone, "the end of the volume")
        assert [path.name for path in root.iterdir()] == ["precious"]
    await cluster.delete(PVC, ("openstack", f"{node}-other"))
