"""The API server refuses to delete a protected cloud, or its namespace; the policies are those of the chart."""

from __future__ import annotations

import asyncio
import copy
import re
import subprocess
import uuid
from collections.abc import AsyncIterator, Awaitable, Callable, Iterator, Sequence
from typing import Any

import pytest
import pytest_asyncio
import yaml

from stackwright.adapters.helm.command import KUBERNETES
from stackwright.adapters.kubernetes.client import KubernetesCluster
from stackwright.api.crd import crd
from stackwright.api.kinds import NAMESPACE
from stackwright.api.meta import Kind
from stackwright.api.support import UNUSED
from stackwright.cloud.controlplane import OpenStackControlPlane
from stackwright.cloud.deployment import OpenStackDeployment
from stackwright.core.errors import Conflict, TerminalError, TransientError
from stackwright.local.tools import binary
from support.paths import ROOT

CHART = ROOT / "charts/stackwright"
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


def rendered(*templates: str, words: Sequence[str] = ()) -> list[Any]:
    """The objects of these templates of the operator's chart, with further words for `helm template`."""
    command = [str(binary("helm")), "template", "x", str(CHART), f"--kube-version={KUBERNETES}"]
    command += ["--namespace=stackwright", "--set", "images.tags.stackwright=unused"]
    command += [*(f"--show-only=templates/{name}.yaml" for name in templates), *words]
    text = subprocess.run(command, capture_output=True, text=True, check=True).stdout
    return [obj for obj in yaml.safe_load_all(text) if obj]


@pytest_asyncio.fixture
async def policy(cluster: KubernetesCluster) -> AsyncIterator[KubernetesCluster]:
    objects = rendered("protection")
    assert len(objects) == 6
    for obj in objects:
        await cluster.apply(KINDS[obj["kind"]], obj, "test")
    await cluster.apply(NAMESPACE, {"metadata": {"name": SPACE}}, "test")
    yield cluster
    for obj in reversed(objects):
        await cluster.delete(KINDS[obj["kind"]], ("", obj["metadata"]["name"]))


async def make(cluster: KubernetesCluster, name: str, size: str, space: str = SPACE, **notes: str) -> None:
    meta: dict[str, Any] = {"name": name, "namespace": space, "annotations": notes}
    spec = {"openstack_version": "epoxy", "preset": "core", "size": size, "draft": True}
    await cluster.apply(OpenStackDeployment.KIND, {"metadata": meta, "spec": spec}, "test")


async def refused(
    cluster: KubernetesCluster, name: str, kind: Kind = OpenStackDeployment.KIND, space: str = SPACE
) -> str:
    """The message of a refused deletion; empty if it is accepted."""
    try:
        await cluster.delete(kind, (space, name))
    except (TerminalError, TransientError, Conflict) as error:
        return str(error)
    return ""


async def first_refusal(
    made: Callable[[], Awaitable[None]], deleted: Callable[[], Awaitable[str]], seconds: float = 30
) -> str:
    """Retry the deletion, because the API server loads a policy after a short delay."""
    async with asyncio.timeout(seconds):
        while True:
            await made()
            if message := await deleted():
                return message
            await asyncio.sleep(0.3)


async def test_a_cloud_above_size_single_is_protected_by_default(policy: KubernetesCluster) -> None:
    message = await first_refusal(lambda: make(policy, "large", "small"), lambda: refused(policy, "large"))
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


def control_plane(**sections: Any) -> dict[str, Any]:
    """A control plane with a single server of each service; `sections` replace those of the same name."""
    documents = yaml.safe_load_all((CHART.parents[1] / "examples/control-plane.yaml").read_text())
    found: dict[str, Any] = next(each for each in documents if each["kind"] == "OpenStackControlPlane")
    meta = {"name": "plane", "namespace": SPACE}
    return {"metadata": meta, "spec": {**found["spec"], **sections}}


def many(*path: str) -> dict[str, Any]:
    """A section of the example with three replicas at a path below it."""
    section = copy.deepcopy(control_plane()["spec"][path[0]])
    place = section
    for name in path[1:]:
        place = place.setdefault(name, {})
    place["replicas"] = 3
    return {path[0]: section}


@pytest.mark.parametrize(
    "path",
    [
        ("galera", "templates", "openstack"),
        ("memcached", "templates", "memcached"),
        ("keystone", "template"),
        ("placement", "template"),
        ("neutron", "template"),
        ("horizon", "template"),
        ("nova", "template", "apiServiceTemplate"),
        ("nova", "template", "metadataServiceTemplate"),
        ("nova", "template", "schedulerServiceTemplate"),
        ("nova", "template", "cellTemplates", "cell1", "conductorServiceTemplate"),
        ("nova", "template", "cellTemplates", "cell1", "noVNCProxyServiceTemplate"),
    ],
    ids=".".join,
)
async def test_a_control_plane_with_several_replicas_is_protected(
    policy: KubernetesCluster, path: tuple[str, ...]
) -> None:
    kind = OpenStackControlPlane.KIND
    wanted = control_plane(**many(*path))

    async def make_it() -> None:
        await policy.apply(kind, wanted, "test")

    assert f"{NOTE}=false" in await first_refusal(make_it, lambda: refused(policy, "plane", kind))
    await policy.patch(kind, (SPACE, "plane"), {"metadata": {"annotations": {NOTE: "false"}}})
    assert await refused(policy, "plane", kind) == ""
    await policy.apply(kind, control_plane(), "test")
    assert await refused(policy, "plane", kind) == "", "one without replicas needs no annotation"


def test_all_replicas_of_a_control_plane_count() -> None:
    """The policy contains the path of each field `replicas` that has an effect and may be more than one."""
    known = set(re.findall(r"spec\.([\w.]+)\.replicas", (CHART / "templates/protection.yaml").read_text()))

    def paths(schema: dict[str, Any], at: str = "") -> Iterator[str]:
        for name, child in (schema.get("properties") or {}).items():
            single = child.get("maximum") == 1 or child.get("enum") == [1]
            if name == "replicas" and not single and not child.get("description", "").startswith(UNUSED):
                yield at
            yield from paths(child, f"{at}.{name}".lstrip("."))

    spec = crd(OpenStackControlPlane)["spec"]["versions"][0]["schema"]["openAPIV3Schema"]["properties"]["spec"]
    assert set(paths(spec)) == known


async def test_the_namespace_of_a_protected_cloud_is_protected_too(policy: KubernetesCluster) -> None:
    space = ""

    async def make_it() -> None:
        nonlocal space  # a namespace that was deleted before the policy was in use cannot be used again
        space = f"kept-{uuid.uuid4().hex[:8]}"
        await policy.apply(NAMESPACE, {"metadata": {"name": space}}, "test")
        await make(policy, "cloud", "small", space)

    async def gone() -> str:
        return await refused(policy, space, NAMESPACE, "")

    message = await first_refusal(make_it, gone)
    assert f"the cloud {space}/cloud is protected" in message
    await make(policy, "cloud", "small", space, **{NOTE: "false"})
    async with asyncio.timeout(30):  # the API server uses its own cache of clouds
        while await gone():
            await asyncio.sleep(0.3)


async def test_other_namespaces_can_be_deleted(policy: KubernetesCluster) -> None:
    for size in ("", "single"):
        space = f"free-{uuid.uuid4().hex[:8]}"
        await policy.apply(NAMESPACE, {"metadata": {"name": space}}, "test")
        if size:
            await make(policy, "cloud", size, space)
        assert await refused(policy, space, NAMESPACE, "") == ""
