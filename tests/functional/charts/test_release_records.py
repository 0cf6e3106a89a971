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
from stackwright.local.tools import binary
from tests.functional.charts.test_protection import KINDS, rendered

RBAC = "rbac.authorization.k8s.io"
TENANT, OPERATOR = "tenant", "system:serviceaccount:stackwright:stackwright"
RECORD = "sh.helm.release.v1.x.v"
Write = Callable[..., str]


@pytest_asyncio.fixture
async def space(cluster: KubernetesCluster) -> AsyncIterator[str]:
    """A namespace with a HelmBundle of release x, and a tenant with all rights on Secrets there."""
    name = f"records-{uuid.uuid4().hex[:8]}"
    kinds = KINDS | {
        kind: Kind(RBAC, "v1", kind, plural, namespaced=False)
        for kind, plural in (("ClusterRole", "clusterroles"), ("ClusterRoleBinding", "clusterrolebindings"))
    }
    objects = [each for each in rendered("records", "rbac") if each["kind"] in kinds]
    assert len(objects) >= 4
    for obj in objects:
        await cluster.apply(kinds[obj["kind"]], obj, "test")
    await cluster.apply(NAMESPACE, {"metadata": {"name": name}}, "test")
    rules = [{"apiGroups": [""], "resources": ["secrets"], "verbs": ["*"]}]
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
    for mine in (record(space, "mine"), record(space, "sh.helm.release.v1.xx.v1", "xx"), record(space, "x", "z")):
        assert tenant(mine) == "", "other Secrets, and releases of one's own, are the tenant's"
        assert tenant({**mine, "stringData": {"release": "b"}}) == ""
    assert operator(record(space, f"{RECORD}1", "x", "next")) == ""
    assert operator(record(space, f"{RECORD}2", "x")) == ""
    found = await cluster.get(SECRET, (space, f"{RECORD}1"))
    assert found is not None and found["data"]["release"] == "bmV4dA=="
