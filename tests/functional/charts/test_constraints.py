"""The API server accepts the chart's SecurityContextConstraints by the CustomResourceDefinition of OpenShift."""

from __future__ import annotations

import asyncio
import json
import os
import subprocess
import tempfile
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
import yaml

from stackwright.adapters.kubernetes.client import KubernetesCluster
from stackwright.api.kinds import CRD
from stackwright.api.meta import Kind
from stackwright.core.conditions import is_true
from stackwright.local.config import LocalCluster
from stackwright.local.tools import find_go
from tests.functional.charts.test_protection import rendered

API = "github.com/openshift/api@v0.0.0-20240124164020-e2ce40831f2e"
SUM = "h1:cxgCNo/R769CO23AK5TCh45H9SMUGZ8RukiF2/Qif3o="
FILE = "security/v1/0000_03_security-openshift_01_scc.crd.yaml"
CONSTRAINTS = Kind(
    "security.openshift.io", "v1", "SecurityContextConstraints", "securitycontextconstraints", namespaced=False
)


@pytest.fixture(scope="module")
def definition() -> Iterator[dict[str, Any]]:
    """The CustomResourceDefinition from the Go module of OpenShift's API, whose checksum is pinned."""
    with tempfile.TemporaryDirectory() as elsewhere:
        command = [find_go(LocalCluster.discover()), "mod", "download", "-json", API]
        env = {**os.environ, "GOFLAGS": "-mod=mod"}
        done = subprocess.run(command, cwd=elsewhere, env=env, capture_output=True, text=True, check=True, timeout=300)
    found = json.loads(done.stdout)
    assert found["Sum"] == SUM
    yield yaml.safe_load((Path(found["Dir"]) / FILE).read_text())


async def test_the_api_server_stores_them_as_they_are(cluster: KubernetesCluster, definition: dict[str, Any]) -> None:
    """A field that OpenShift does not know would be dropped."""
    await cluster.apply(CRD, definition, "test")
    name = ("", definition["metadata"]["name"])
    made = rendered("constraints", words=("--api-versions=security.openshift.io/v1", "--set=namespaces={openstack}"))
    assert len(made) == 4
    try:
        async with asyncio.timeout(30):
            while not is_true(await cluster.get(CRD, name), "Established"):
                await asyncio.sleep(0.1)
        for each in made:
            await cluster.apply(CONSTRAINTS, each, "test")
            stored = await cluster.get(CONSTRAINTS, ("", each["metadata"]["name"]))
            assert stored is not None
            assert {name: stored.get(name) for name in each if name != "metadata"} == {
                name: value for name, value in each.items() if name != "metadata"
            }
    finally:
        await cluster.delete(CRD, name)
