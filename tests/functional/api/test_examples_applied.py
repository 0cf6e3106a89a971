"""The API server takes every example, with strict validation, as `kubectl apply --server-side` would send it."""

from __future__ import annotations

from pathlib import Path

import pytest

from stackwright.adapters.kubernetes.client import KubernetesCluster
from stackwright.api.kinds import NAMESPACE
from stackwright.cli.change.apply import apply_all
from stackwright.cli.manifests.load import Manifest, load
from stackwright.core.objects import key_of
from support.paths import ROOT

FILES = sorted((ROOT / "examples").glob("*.yaml"))


@pytest.mark.parametrize("path", FILES, ids=lambda path: path.stem)
async def test_it_can_be_applied(cluster: KubernetesCluster, path: Path) -> None:
    manifests = load(path, "examples")
    await apply_all(cluster, manifests)
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
    """Nothing that was written got lost; the server may have added defaults."""
    if isinstance(given, dict):
        return isinstance(stored, dict) and all(_within(value, stored.get(key)) for key, value in given.items())
    return given == stored
