"""Sizes of volumes against a real API server and Helm: a rejected size fails no release."""

from __future__ import annotations

import uuid
from collections.abc import AsyncIterator
from typing import Any

import pytest
import pytest_asyncio
import yaml

from stackwright.adapters.helm.command import HelmCli
from stackwright.adapters.kubernetes.client import KubernetesCluster
from stackwright.adapters.system import SystemClock, SystemEntropy
from stackwright.api.kinds import DEPLOYMENT, EVENT, NAMESPACE, PVC, SECRET, STATEFULSET, STORAGE_CLASS
from stackwright.core.errors import TerminalError
from stackwright.core.helm.merge import merge
from stackwright.core.helm.records import SELECTOR, manifest_digest, record_name, releases
from stackwright.core.plan import GrowClaim, HelmUpgrade
from stackwright.core.ports import Ports, absent
from stackwright.local import tools
from stackwright.runtime.cycle.execute import execute
from support.paths import ROOT

VALUES = yaml.safe_load((ROOT / "tests/golden/charts/glance/default/values.yaml").read_text())
CLAIM = "glance-images"


@pytest_asyncio.fixture
async def namespace(cluster: KubernetesCluster) -> AsyncIterator[str]:
    """A namespace with a StorageClass of its name, whose volumes can be expanded."""
    name = f"v-{uuid.uuid4().hex[:10]}"
    await cluster.apply(NAMESPACE, {"metadata": {"name": name}}, "test")
    storage = {"metadata": {"name": name}, "provisioner": "example.org/disks", "allowVolumeExpansion": True}
    await cluster.apply(STORAGE_CLASS, storage, "test")
    yield name
    await cluster.delete(STORAGE_CLASS, ("", name))
    await cluster.delete(NAMESPACE, ("", name))


async def size(cluster: KubernetesCluster, namespace: str) -> str:
    found = await cluster.get(PVC, (namespace, CLAIM))
    assert found
    return str(found["spec"]["resources"]["requests"]["storage"])


@pytest.mark.parametrize("first", ["", "own"])
async def test_another_class_fails_no_upgrade(
    cluster: KubernetesCluster, namespace: str, kubeconfig: str, first: str
) -> None:
    """first  class of the release; if empty, Kubernetes gives the claim its default"""
    helm = HelmCli(ROOT / "charts", kubeconfig=kubeconfig, binary=str(tools.binary("helm")))
    owner = {"metadata": {"namespace": namespace, "name": "glance"}}

    async def upgrade(wanted: str | None) -> None:
        values = merge(VALUES, {"volume": {"store": "images", "class_name": wanted}})
        await helm.upgrade(HelmUpgrade((namespace, "glance"), "glance", "", values, str(wanted), owner))

    try:
        await upgrade(namespace if first else None)
        claim = await cluster.get(PVC, (namespace, CLAIM))
        assert claim
        given = claim["spec"].get("storageClassName")  # the cluster's default class, if it has one
        if given is None:
            given = namespace
            await cluster.patch(PVC, (namespace, CLAIM), {"spec": {"storageClassName": given}})
        assert given == namespace or not first
        await cluster.patch(PVC, (namespace, CLAIM), {"spec": {"volumeName": "disk"}})
        await upgrade("another")
        claim = await cluster.get(PVC, (namespace, CLAIM))
        assert claim and claim["spec"]["storageClassName"] == given
    finally:
        helm.close()


async def test_a_cloud_without_a_file_store_keeps_its_claim_until_it_is_deleted(
    cluster: KubernetesCluster, namespace: str, kubeconfig: str
) -> None:
    helm = HelmCli(ROOT / "charts", kubeconfig=kubeconfig, binary=str(tools.binary("helm")))
    owner = {"metadata": {"namespace": namespace, "name": "glance"}}

    async def upgrade(store: str) -> Any:
        """Upgrade the release, and return the volume of the pods."""
        values = merge(VALUES, {"volume": {"store": store}})
        await helm.upgrade(HelmUpgrade((namespace, "glance"), "glance", "", values, store, owner))
        deployment = await cluster.get(DEPLOYMENT, (namespace, "glance-api"))
        assert deployment
        return next(v for v in deployment["spec"]["template"]["spec"]["volumes"] if v["name"] == "images")

    try:
        assert (await upgrade("images"))["persistentVolumeClaim"] == {"claimName": CLAIM}
        await cluster.patch(PVC, (namespace, CLAIM), {"spec": {"volumeName": "disk"}})
        before = await cluster.get(PVC, (namespace, CLAIM))
        assert before
        for _ in range(2):
            assert "persistentVolumeClaim" not in await upgrade("")
            after = await cluster.get(PVC, (namespace, CLAIM))
            assert after and after["metadata"]["uid"] == before["metadata"]["uid"]
            assert after["spec"] == before["spec"]
        await cluster.patch(PVC, (namespace, CLAIM), {"metadata": {"finalizers": None}})  # no controller removes them
        await cluster.delete(PVC, (namespace, CLAIM))
        await upgrade("")
        assert await cluster.get(PVC, (namespace, CLAIM)) is None
    finally:
        helm.close()


@pytest.mark.parametrize("first", [None, "own"])
async def test_another_class_fails_no_upgrade_of_a_statefulset(
    cluster: KubernetesCluster, namespace: str, kubeconfig: str, first: str | None
) -> None:
    helm = HelmCli(ROOT / "charts", kubeconfig=kubeconfig, binary=str(tools.binary("helm")))
    owner = {"metadata": {"namespace": namespace, "name": "etcd"}}
    values = yaml.safe_load((ROOT / "tests/golden/charts/etcd/default/values.yaml").read_text())
    try:
        for wanted in (first, "another", None):
            asked = merge(values, {"volume": {"class_name": wanted}})
            await helm.upgrade(HelmUpgrade((namespace, "etcd"), "etcd", "", asked, str(wanted), owner))
            (found,) = await cluster.list(STATEFULSET, namespace)
            (template,) = found["spec"]["volumeClaimTemplates"]
            assert template["spec"].get("storageClassName") == first
    finally:
        helm.close()


async def test_another_size_fails_no_upgrade_and_claims_grow_by_themselves(
    cluster: KubernetesCluster, namespace: str, kubeconfig: str
) -> None:
    helm = HelmCli(ROOT / "charts", kubeconfig=kubeconfig, binary=str(tools.binary("helm")))
    owner = {"metadata": {"namespace": namespace, "name": "glance"}}

    async def upgrade(wanted: str) -> None:
        values = merge(VALUES, {"volume": {"store": "images", "class_name": namespace, "size": wanted}})
        await helm.upgrade(HelmUpgrade((namespace, "glance"), "glance", "", values, wanted, owner))

    async def grow(wanted: str) -> None:
        claim = await cluster.get(PVC, (namespace, CLAIM))
        assert claim
        nothing = absent("other system")
        ports = Ports(cluster, nothing, SystemClock(), SystemEntropy())
        await execute(
            [GrowClaim({"apiVersion": "v1", "kind": "PersistentVolumeClaim", **claim}, wanted)], ports, "test"
        )

    try:
        await upgrade("10Gi")
        await grow("15Gi")
        assert await size(cluster, namespace) == "10Gi", "it has no volume yet"
        await cluster.patch(PVC, (namespace, CLAIM), {"spec": {"volumeName": "disk"}})
        bound = {"phase": "Bound", "capacity": {"storage": "10Gi"}}
        await cluster.apply_status(PVC, {"metadata": {"namespace": namespace, "name": CLAIM}, "status": bound}, "test")
        await upgrade("20Gi")
        assert await size(cluster, namespace) == "10Gi"
        await grow("20Gi")
        assert await size(cluster, namespace) == "20Gi"
        await upgrade("5Gi")
        await grow("5Gi")
        assert await size(cluster, namespace) == "20Gi", "never smaller"
        first = await cluster.get(SECRET, (namespace, record_name("glance", 1)))
        with pytest.raises(TerminalError, match="can not be less than"):
            await helm.rollback((namespace, "glance"), 1, manifest_digest(first))
        record = releases(await cluster.list(SECRET, namespace, SELECTOR))["glance"]
        assert (record.revision, record.state, record.digest) == (4, "failed", "10Gi")
        assert "can not be less than" in record.cause
        assert await size(cluster, namespace) == "20Gi"
        reasons = {event["reason"] for event in await cluster.list(EVENT, namespace)}
        assert reasons == {"CannotGrow"}
    finally:
        helm.close()
