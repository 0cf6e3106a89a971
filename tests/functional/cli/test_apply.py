"""`stackwright apply` is all or nothing, as far as a server-side dry run can detect errors."""

from __future__ import annotations

import asyncio
import uuid
from collections.abc import AsyncIterator
from pathlib import Path
from typing import Any

import pytest
import pytest_asyncio
import yaml
from typer.testing import CliRunner

from stackwright.adapters.kubernetes.client import KubernetesCluster
from stackwright.api.kinds import CONFIGMAP, NAMESPACE, SECRET
from stackwright.cli.app import app
from stackwright.cli.manifests.checks import dry_run
from stackwright.cli.manifests.load import MANAGER, BadManifest, Manifest


@pytest_asyncio.fixture
async def space(cluster: KubernetesCluster) -> AsyncIterator[str]:
    name = f"apply-{uuid.uuid4().hex[:8]}"
    await cluster.apply(NAMESPACE, {"metadata": {"name": name}}, "test")
    fixed = {"metadata": {"name": "fixed", "namespace": name}, "data": {"a": "1"}, "immutable": True}
    await cluster.apply(CONFIGMAP, fixed, MANAGER)
    yield name
    await cluster.delete(NAMESPACE, ("", name))


def configmap(name: str, space: str, value: str) -> dict[str, Any]:
    return {
        "apiVersion": "v1",
        "kind": "ConfigMap",
        "metadata": {"name": name, "namespace": space},
        "data": {"a": value},
        **({"immutable": True} if name == "fixed" else {}),
    }


async def test_one_document_that_the_server_refuses_keeps_all_from_being_applied(
    cluster: KubernetesCluster, kubeconfig: str, space: str, tmp_path: Path
) -> None:
    documents = [configmap("first", space, "x"), configmap("fixed", space, "2"), configmap("last", space, "x")]
    path = tmp_path / "all.yaml"
    path.write_text(yaml.safe_dump_all(documents))
    command = ("apply", "-f", str(path), "--kubeconfig", kubeconfig)
    result = await asyncio.to_thread(CliRunner().invoke, app, command)
    assert result.exit_code == 1
    assert "document 2" in result.stderr and "immutable" in result.stderr
    assert result.stderr.rstrip().endswith("Nothing was applied.")
    assert [await cluster.get(CONFIGMAP, (space, name)) for name in ("first", "last")] == [None, None]
    path.write_text(yaml.safe_dump_all([documents[0], documents[2]]))
    result = await asyncio.to_thread(CliRunner().invoke, app, command)
    assert result.exit_code == 0, result.output
    assert await cluster.get(CONFIGMAP, (space, "last"))


async def test_all_rejections_are_reported_together_and_nothing_is_changed(
    cluster: KubernetesCluster, space: str
) -> None:
    wrong = {"metadata": {"name": "s", "namespace": space}, "type": "kubernetes.io/tls", "data": {}}
    manifests = [
        Manifest(SECRET, wrong, "a: "),
        Manifest(CONFIGMAP, configmap("fixed", space, "2"), "b: "),
        Manifest(CONFIGMAP, configmap("new", space, "2"), "c: "),
    ]
    with pytest.raises(BadManifest) as told:
        await dry_run(cluster, manifests)
    assert [line[:3] for line in str(told.value).splitlines()] == ["a: ", "b: "]
    assert await cluster.get(CONFIGMAP, (space, "new")) is None


async def test_an_object_in_a_new_namespace_is_not_rejected_in_advance(cluster: KubernetesCluster) -> None:
    name = f"new-{uuid.uuid4().hex[:8]}"
    space = Manifest(NAMESPACE, {"metadata": {"name": name}})
    await dry_run(cluster, [space, Manifest(CONFIGMAP, configmap("a", name, "1"))])
    assert await cluster.get(NAMESPACE, ("", name)) is None
