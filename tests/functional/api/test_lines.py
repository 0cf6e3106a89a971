"""The API server's validation of texts of one line, and of certificates as text in the spec of a cloud."""

from __future__ import annotations

from typing import Any

import pytest

from stackwright.adapters.kubernetes.client import KubernetesCluster
from stackwright.api.kinds import NAMESPACE
from stackwright.cloud.deployment import OpenStackDeployment
from stackwright.core.errors import TerminalError
from stackwright.runtime import x509

KIND = OpenStackDeployment.KIND
SPACE = "lines"


async def applied(cluster: KubernetesCluster, **spec: Any) -> dict[str, Any]:
    await cluster.apply(NAMESPACE, {"apiVersion": "v1", "kind": "Namespace", "metadata": {"name": SPACE}}, "test")
    whole = {"openstack_version": "epoxy", "preset": "core", "size": "single", **spec}
    body = {"apiVersion": KIND.api_version, "kind": KIND.kind, "metadata": {"name": "cloud", "namespace": SPACE}}
    return await cluster.apply(KIND, {**body, "spec": whole}, "test")


@pytest.mark.parametrize("text", ["R\nx", "R\n", "R\rx", "R\x1b[1m"])
async def test_a_text_of_several_lines_is_refused_by_its_field(cluster: KubernetesCluster, text: str) -> None:
    with pytest.raises(TerminalError, match=r"spec\.region_name"):
        await applied(cluster, region_name=text)


@pytest.mark.parametrize("text", ["RegionOne", "Zürich\t1", "a: b # c"])
async def test_a_text_of_one_line_is_accepted(cluster: KubernetesCluster, text: str) -> None:
    assert (await applied(cluster, region_name=text))["spec"]["region_name"] == text


async def test_certificates_are_accepted_as_text_and_as_references(cluster: KubernetesCluster) -> None:
    text = x509.authority("test", 1_700_000_000.0)["ca.crt"]
    reference = {"value_from": {"secret_key_ref": {"name": "a", "key": "b"}}}
    endpoints = {"ca_cert": text, "api_cert": reference, "api_key": reference}
    stored = await applied(cluster, features={"ssl": {"public_endpoints": endpoints}})
    assert stored["spec"]["features"]["ssl"]["public_endpoints"] == endpoints
