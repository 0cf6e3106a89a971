"""The API server refuses to delete a protected cloud; the policy is that of the chart."""

from __future__ import annotations

import asyncio
import subprocess
from collections.abc import AsyncIterator
from pathlib import Path
from typing import Any

import pytest_asyncio
import yaml

from stackwright.adapters.kubernetes import KubernetesCluster
from stackwright.api.deployment import OpenStackDeployment
from stackwright.api.kinds import NAMESPACE
from stackwright.api.meta import Kind
from stackwright.core.ports import Conflict, NotYet, Refused
from stackwright.local.tools import binary

CHART = Path(__file__).parents[2] / "charts/stackwright"
GROUP = ("admissionregistration.k8s.io", "v1")
KINDS = {
    name: Kind(*GROUP, name, plural, namespaced=False)
    for name, plural in (
        ("ValidatingAdmissionPolicy", "validatingadmissionpolicies"),
        ("ValidatingAdmissionPolicyBinding", "validatingadmissionpolicybindings"),
    )
}
NOTE = "stackwright.dev/deletion-protection"
SPACE = "protection"


@pytest_asyncio.fixture
async def policy(cluster: KubernetesCluster) -> AsyncIterator[KubernetesCluster]:
    command = [str(binary("helm")), "template", "x", str(CHART), "--show-only", "templates/protection.yaml"]
    command += ["--set", "images.tags.stackwright=unused"]
    rendered = subprocess.run(command, capture_output=True, text=True, check=True).stdout
    objects = [obj for obj in yaml.safe_load_all(rendered) if obj]
    assert len(objects) == 2
    for obj in objects:
        await cluster.apply(KINDS[obj["kind"]], obj, "test")
    await cluster.apply(NAMESPACE, {"metadata": {"name": SPACE}}, "test")
    yield cluster
    for obj in reversed(objects):
        await cluster.delete(KINDS[obj["kind"]], ("", obj["metadata"]["name"]))


async def make(cluster: KubernetesCluster, name: str, size: str, **notes: str) -> None:
    meta: dict[str, Any] = {"name": name, "namespace": SPACE, "annotations": notes}
    spec = {"openstack_version": "epoxy", "preset": "core", "size": size, "draft": True}
    await cluster.apply(OpenStackDeployment.KIND, {"metadata": meta, "spec": spec}, "test")


async def refused(cluster: KubernetesCluster, name: str) -> str:
    """The message of a refused deletion; empty when it was accepted."""
    try:
        await cluster.delete(OpenStackDeployment.KIND, (SPACE, name))
    except (Refused, NotYet, Conflict) as error:
        return str(error)
    return ""


async def test_a_cloud_above_size_single_is_protected_unless_it_says_otherwise(policy: KubernetesCluster) -> None:
    async with asyncio.timeout(30):  # the API server takes a policy into use after a moment
        while True:
            await make(policy, "large", "small")
            if message := await refused(policy, "large"):
                break
            await asyncio.sleep(0.3)
    assert f"{NOTE}=false" in message
    await make(policy, "large", "small", **{NOTE: "false"})
    assert await refused(policy, "large") == ""
    for name, size, notes, expected in (
        ("trial", "single", {}, False),
        ("kept", "single", {NOTE: "true"}, True),
        ("odd", "single", {NOTE: "yes"}, True),
        ("free", "medium", {NOTE: "false"}, False),
    ):
        await make(policy, name, size, **notes)
        assert bool(await refused(policy, name)) is expected, name
