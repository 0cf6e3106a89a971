"""Kubernetes deletes an object whose owners do not exist, so `apply`, `plan` and `up -f` reject such references."""

from __future__ import annotations

from typing import Any

import pytest
import yaml

from stackwright.api.kinds import DEPLOYMENT, NAMESPACE
from stackwright.cli.manifests.checks import check_reads
from stackwright.cli.manifests.load import BadManifest, Manifest
from stackwright.cloud.registry import BY_KIND
from stackwright.controllers.infra.clusterapi import CLUSTER, MACHINE
from stackwright.core.objects import owner_reference
from stackwright.runtime.memory import MemoryCluster
from support.paths import ROOT
from tests.unit.cli.test_commands import called
from tests.unit.cli.test_commands import cluster as cluster  # a fixture

SERVER = BY_KIND["OpenStackServer"].KIND
EXAMPLE = yaml.safe_load((ROOT / "examples/server.yaml").read_text())
SPACE = EXAMPLE["metadata"]["namespace"]
OLD = "11111111-2222-4333-8444-555555555555"


def reference(uid: str = OLD, **fields: Any) -> dict[str, Any]:
    return {"apiVersion": MACHINE.api_version, "kind": "Machine", "name": "m", "uid": uid, **fields}


def server(*owners: dict[str, Any]) -> dict[str, Any]:
    return {**EXAMPLE, "metadata": {**EXAMPLE["metadata"], "ownerReferences": list(owners)}}


async def problems(cluster: MemoryCluster, *owners: dict[str, Any]) -> list[str]:
    cluster.put(NAMESPACE, {"metadata": {"name": SPACE}})
    try:
        await check_reads(cluster, [Manifest(SERVER, server(*owners), where="a.yaml: ")])
    except BadManifest as error:
        return str(error).splitlines()
    return []


def owner(cluster: MemoryCluster, namespace: str = SPACE) -> dict[str, Any]:
    made = cluster.put(MACHINE, {"metadata": {"namespace": namespace, "name": "m"}})
    return owner_reference({"apiVersion": MACHINE.api_version, "kind": "Machine", **made})


NONE = "there is no Machine m with this uid, so Kubernetes would delete the object and its content; remove it"


async def test_an_owner_of_a_former_cluster_is_rejected(cluster: MemoryCluster) -> None:
    assert await problems(cluster, reference()) == [f"a.yaml: metadata.ownerReferences[0]: {NONE}"]
    there = owner(cluster)
    assert await problems(cluster, reference()) == [f"a.yaml: metadata.ownerReferences[0]: {NONE}"]
    assert await problems(cluster, there) == []
    assert await problems(cluster, there, reference()) == [f"a.yaml: metadata.ownerReferences[1]: {NONE}"]


async def test_an_owner_in_another_namespace_does_not_count(cluster: MemoryCluster) -> None:
    assert NONE in (await problems(cluster, owner(cluster, "elsewhere")))[0]


async def test_an_owner_whose_kind_is_not_served_does_not_exist(cluster: MemoryCluster) -> None:
    cluster.unserved.add(CLUSTER)
    [told] = await problems(cluster, reference(kind="Cluster"))
    assert "there is no Cluster m with this uid" in told


@pytest.mark.parametrize("other", [("apps/v1", "Deployment"), ("networking.k8s.io/v1", "Ingress")])
async def test_an_owner_that_cannot_be_checked_is_rejected(cluster: MemoryCluster, other: tuple[str, str]) -> None:
    version, kind = other
    cluster.put(DEPLOYMENT, {"metadata": {"namespace": SPACE, "name": "m", "uid": OLD}})
    [told] = await problems(cluster, reference(apiVersion=version, kind=kind))
    assert told.startswith(f"a.yaml: metadata.ownerReferences[0]: cannot check whether {kind} m exists")


async def test_a_reference_that_the_object_has_is_accepted(cluster: MemoryCluster) -> None:
    cluster.put(SERVER, server(reference()))
    assert await problems(cluster, reference()) == []


@pytest.mark.parametrize("command", ["apply", "plan"])
def test_nothing_of_a_file_with_such_an_object_is_applied(cluster: MemoryCluster, command: str) -> None:
    space = {"apiVersion": "v1", "kind": "Namespace", "metadata": {"name": SPACE}}
    result = called(command, "-f", "-", stdin=yaml.safe_dump_all([space, server(reference())]))
    assert result.exit_code == 1
    assert NONE in result.stderr
    assert not cluster.all(SERVER)
    assert not [each for each in cluster.all(NAMESPACE) if each["metadata"]["name"] == SPACE]
