"""A user with rights in only one namespace cannot write records that the operator's Helm reads; the policy of the
chart.
"""

from __future__ import annotations

import asyncio
import json
import subprocess
import uuid
from collections.abc import AsyncIterator, Callable
from typing import Any

import pytest_asyncio

from stackwright.adapters.kubernetes.client import KubernetesCluster
from stackwright.api.kinds import NAMESPACE, SECRET
from stackwright.api.meta import Kind
from stackwright.api.services.helmbundle import HelmBundle
from stackwright.core.objects import FINALIZER
from stackwright.local.tools import binary
from tests.functional.charts.test_protection import KINDS, rendered

RBAC = "rbac.authorization.k8s.io"
TENANT, OPERATOR, SYNCER = "tenant", "system:serviceaccount:stackwright:stackwright", "records-syncer"
RECORD = "sh.helm.release.v1.x.v"
Write = Callable[..., str]


@pytest_asyncio.fixture
async def space(cluster: KubernetesCluster) -> AsyncIterator[str]:
    """A namespace with a HelmBundle of release x, and a tenant with all rights on Secrets and HelmBundles there."""
    name = f"records-{uuid.uuid4().hex[:8]}"
    kinds = KINDS | {
        kind: Kind(RBAC, "v1", kind, plural, namespaced=False)
        for kind, plural in (("ClusterRole", "clusterroles"), ("ClusterRoleBinding", "clusterrolebindings"))
    }
    objects = [each for each in rendered("records", "rbac") if each["kind"] in kinds]
    assert len(objects) >= 6
    # Such as External Secrets, which writes Secrets that tenants describe.
    secrets = [{"apiGroups": [""], "resources": ["secrets"], "verbs": ["*"]}]
    objects += [
        {"kind": "ClusterRole", "metadata": {"name": SYNCER}, "rules": secrets},
        {
            "kind": "ClusterRoleBinding",
            "metadata": {"name": SYNCER},
            "roleRef": {"apiGroup": RBAC, "kind": "ClusterRole", "name": SYNCER},
            "subjects": [{"apiGroup": RBAC, "kind": "User", "name": SYNCER}],
        },
    ]
    for obj in objects:
        await cluster.apply(kinds[obj["kind"]], obj, "test")
    await cluster.apply(NAMESPACE, {"metadata": {"name": name}}, "test")
    rules = [
        {"apiGroups": [""], "resources": ["secrets"], "verbs": ["*"]},
        {"apiGroups": [HelmBundle.KIND.group], "resources": ["helmbundles", "helmbundles/status"], "verbs": ["*"]},
    ]
    meta = {"name": TENANT, "namespace": name}
    await cluster.apply(Kind(RBAC, "v1", "Role", "roles"), {"metadata": meta, "rules": rules}, "test")
    ref = {"apiGroup": RBAC, "kind": "Role", "name": TENANT}
    subjects = [{"apiGroup": RBAC, "kind": "User", "name": TENANT}]
    binding = {"metadata": meta, "roleRef": ref, "subjects": subjects}
    await cluster.apply(Kind(RBAC, "v1", "RoleBinding", "rolebindings"), binding, "test")
    bundle = {
        "releases": [{"name": "y", "chart": "stackwright/memcached"}, {"name": "x", "chart": "stackwright/mariadb"}]
    }
    await cluster.apply(HelmBundle.KIND, {"metadata": {"name": "b", "namespace": name}, "spec": bundle}, "test")
    yield name
    for obj in reversed(objects):
        await cluster.delete(kinds[obj["kind"]], ("", obj["metadata"]["name"]))
    await cluster.delete(NAMESPACE, ("", name))


def patcher(kubeconfig: str, space: str, who: str) -> Callable[..., str]:
    """Changes the HelmBundle as a user; gives back why it was refused, or an empty text."""

    def patch(change: dict[str, Any], *options: str) -> str:
        command = [str(binary("kubectl")), "--kubeconfig", kubeconfig, f"--as={who}", "--namespace", space, "patch"]
        command += ["helmbundles.lcm.mirantis.com", "b", "--type=merge", "--patch", json.dumps(change), *options]
        done = subprocess.run(command, capture_output=True, text=True)
        return "" if done.returncode == 0 else done.stderr

    return patch


def record(space: str, name: str, release: str = "", text: str = "a") -> dict[str, Any]:
    labels = {"owner": "helm", "name": release} if release else {}
    meta = {"name": name, "namespace": space, "labels": labels}
    return {"apiVersion": "v1", "kind": "Secret", "metadata": meta, "stringData": {"release": text}}


def writer(kubeconfig: str, who: str) -> Write:
    """Applies a Secret as a user. Returns the reason of a refusal, otherwise an empty text."""

    def write(obj: dict[str, Any]) -> str:
        command = [str(binary("kubectl")), "--kubeconfig", kubeconfig, f"--as={who}", "apply", "-f", "-"]
        done = subprocess.run(command, input=json.dumps(obj), capture_output=True, text=True)
        return "" if done.returncode == 0 else done.stderr

    return write


async def test_records_of_the_operators_releases_are_the_operators(
    cluster: KubernetesCluster, kubeconfig: str, space: str
) -> None:
    tenant, operator = writer(kubeconfig, TENANT), writer(kubeconfig, OPERATOR)
    assert operator(record(space, f"{RECORD}1", "x")) == ""
    number = 0
    async with asyncio.timeout(60):  # the API server loads a policy after a short delay
        while not (told := tenant(record(space, f"probe{number}", "x"))):
            number += 1
            await asyncio.sleep(0.3)
    assert f"Secret {space}/probe{number} is a record of a release of HelmBundle b" in told
    only = "which only the operator writes"
    assert only in tenant(record(space, f"{RECORD}1", "x", "forged"))
    assert only in tenant(record(space, f"{RECORD}1", "z", "forged")), "its name is enough for a rollback"
    assert only in tenant(record(space, f"{RECORD}9"))
    assert only in tenant(record(space, "anything", "y"))
    assert only in writer(kubeconfig, SYNCER)(record(space, f"{RECORD}1", "x", "forged"))
    assert writer(kubeconfig, SYNCER)(record(space, "theirs")) == ""
    same = record(space, f"{RECORD}1", "x")
    assert writer(kubeconfig, SYNCER)(same) == "", "a rewrite for a new encryption key changes nothing"
    owner = {"apiVersion": "v1", "kind": "ConfigMap", "name": "gone", "uid": "1"}
    for meta in ({"ownerReferences": [owner]}, {"finalizers": ["example.org/x"]}, {"labels": {"owner": "x"}}):
        assert only in tenant({**same, "metadata": {**same["metadata"], **meta}})
    assert only in tenant({**same, "immutable": True})
    for mine in (record(space, "mine"), record(space, "sh.helm.release.v1.xx.v1", "xx"), record(space, "x", "z")):
        assert tenant(mine) == "", "other Secrets, and releases of one's own, are the tenant's"
        assert tenant({**mine, "stringData": {"release": "b"}}) == ""
    assert operator(record(space, f"{RECORD}1", "x", "next")) == ""
    assert operator(record(space, f"{RECORD}2", "x")) == ""
    found = await cluster.get(SECRET, (space, f"{RECORD}1"))
    assert found is not None and found["data"]["release"] == "bmV4dA=="


async def test_records_of_a_dropped_release_stay_protected_until_it_is_uninstalled(
    cluster: KubernetesCluster, kubeconfig: str, space: str
) -> None:
    tenant = writer(kubeconfig, TENANT)
    of_tenant, of_operator = patcher(kubeconfig, space, TENANT), patcher(kubeconfig, space, OPERATOR)
    status = {"status": {"releaseStatuses": {"x": {"revision": 1}, "y": {"revision": 1}}}}
    assert of_operator(status, "--subresource=status") == ""
    assert of_operator({"metadata": {"finalizers": [FINALIZER, "example.org/other"]}}) == ""
    number = 0
    async with asyncio.timeout(60):  # the API server takes a policy into use after a moment
        while not of_tenant({"status": {"conditions": [], "observedGeneration": number}}, "--subresource=status"):
            number += 1
            await asyncio.sleep(0.3)
        while not tenant(record(space, f"probe{number}", "y")):
            number += 1
            await asyncio.sleep(0.3)
    assert of_tenant({"spec": {"releases": [{"name": "y", "chart": "stackwright/memcached"}]}}) == ""
    async with asyncio.timeout(60):  # and the changed parameters
        while not (told := tenant(record(space, f"{RECORD}1", "x", "forged"))):
            await asyncio.sleep(0.3)
    assert "which only the operator writes" in told
    only = f"only the operator writes the status of HelmBundle {space}/b"
    assert only in of_tenant({"status": {"releaseStatuses": {"x": None}}}, "--subresource=status")
    only = f"only the operator removes its finalizer of HelmBundle {space}/b"
    for finalizers in ([], ["example.org/other"]):
        assert only in of_tenant({"metadata": {"finalizers": finalizers}})
    assert of_tenant({"metadata": {"finalizers": [FINALIZER], "labels": {"a": "b"}}}) == "", "anything else is free"
    assert only in of_tenant({"metadata": {"finalizers": None}})
    assert of_operator({"status": {"releaseStatuses": {"x": None}}}, "--subresource=status") == ""
    async with asyncio.timeout(60):
        while tenant(record(space, f"{RECORD}1", "x")):
            await asyncio.sleep(0.3)
    assert tenant(record(space, "sh.helm.release.v1.y.v1", "y")), "the spec names it"
    assert of_operator({"metadata": {"finalizers": None}}) == ""
