"""The API server accepts every example, with strict validation, as `kubectl apply --server-side` would send it."""

from __future__ import annotations

import asyncio
from pathlib import Path
from typing import Any

import pytest
import yaml

from stackwright.adapters.kubernetes.client import KubernetesCluster
from stackwright.api.kinds import CONFIGMAP, CRD, NAMESPACE
from stackwright.api.meta import Kind
from stackwright.cli.change.apply import apply_all
from stackwright.cli.manifests.load import Manifest, load
from stackwright.core.conditions import is_true
from stackwright.core.objects import key_of
from support.paths import ROOT

FILES = sorted((ROOT / "examples").glob("*.yaml"))
GITOPS = sorted((ROOT / "examples/gitops").glob("*.yaml"))
PLURALS = {"Kustomization": "kustomizations", "OCIRepository": "ocirepositories", "HelmRelease": "helmreleases"}


@pytest.mark.parametrize("path", FILES, ids=lambda path: path.stem)
async def test_it_can_be_applied(cluster: KubernetesCluster, path: Path) -> None:
    manifests = load(path, "examples")
    await apply_all(cluster, manifests, [])
    try:
        await _are_there(cluster, manifests)
    finally:  # two examples may have objects of one name
        for manifest in manifests:
            if manifest.kind != NAMESPACE:
                await cluster.delete(manifest.kind, key_of(manifest.obj))


async def _are_there(cluster: KubernetesCluster, manifests: list[Manifest]) -> None:
    for manifest in manifests:
        there = await cluster.get(manifest.kind, key_of(manifest.obj))
        assert there is not None
        if "spec" in manifest.obj:
            assert _within(manifest.obj["spec"], there["spec"])


def _within(given: object, stored: object) -> bool:
    """Whether all given fields are stored; the server may have added defaults."""
    if isinstance(given, dict):
        return isinstance(stored, dict) and all(_within(value, stored.get(key)) for key, value in given.items())
    return given == stored


@pytest.mark.parametrize("path", GITOPS, ids=lambda path: path.stem)
async def test_a_file_for_argo_cd_or_flux_can_be_applied(cluster: KubernetesCluster, path: Path) -> None:
    for document in yaml.safe_load_all(path.read_text()):
        namespace = document["metadata"].get("namespace", "")
        if namespace:
            await cluster.apply(NAMESPACE, {"metadata": {"name": namespace}}, "test")
        kind = await _kind(cluster, document)
        await cluster.apply(kind, document, "test")
        there = await cluster.get(kind, (namespace, document["metadata"]["name"]))
        assert there is not None
        assert all(_within(document[part], there[part]) for part in ("spec", "data") if part in document)


async def _kind(cluster: KubernetesCluster, document: dict[str, Any]) -> Kind:
    """The kind of a document; a kind of Flux gets a CRD without a schema."""
    if document["apiVersion"] == "v1":
        return {"ConfigMap": CONFIGMAP, "Namespace": NAMESPACE}[document["kind"]]
    (group, version), name = document["apiVersion"].split("/"), document["kind"]
    kind = Kind(group, version, name, PLURALS[name])
    schema = {"openAPIV3Schema": {"type": "object", "x-kubernetes-preserve-unknown-fields": True}}
    spec = {
        "group": group,
        "scope": "Namespaced",
        "names": {"kind": name, "plural": kind.plural, "singular": name.lower()},
        "versions": [{"name": version, "served": True, "storage": True, "schema": schema}],
    }
    key = ("", f"{kind.plural}.{group}")
    await cluster.apply(CRD, {"metadata": {"name": key[1]}, "spec": spec}, "test")
    async with asyncio.timeout(60):
        while not is_true(await cluster.get(CRD, key), "Established"):
            await asyncio.sleep(0.1)
    return kind
