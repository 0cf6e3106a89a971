"""What `stackwright servers` shows."""

from __future__ import annotations

from typing import Any

import pytest
from typer.testing import CliRunner

from stackwright.api.infra.cluster.cluster import OpenStackCluster
from stackwright.api.infra.machine import OpenStackMachine
from stackwright.cli.app import app
from stackwright.cli.ui.servers_tree import trees
from stackwright.cli.ui.tree import lines
from stackwright.runtime.memory import MemoryCluster
from support.commands import connect
from support.server_objects import GOOD

NOW = 1_750_000_000.0


def obj(kind: str, name: str, reason: str = "", message: str = "", owner: str = "", **more: Any) -> dict[str, Any]:
    ready = {"type": "Ready", "status": "False" if reason else "True", "reason": reason, "message": message}
    meta: dict[str, Any] = {
        "namespace": "demo",
        "name": name,
        "uid": f"{kind}-{name}",
        "labels": more.pop("labels", {}),
    }
    meta["generation"] = 1
    meta["ownerReferences"] = [{"uid": owner}] if owner else []
    status = {"conditions": [{**ready, "observedGeneration": 1}], **more}
    return {"kind": kind, "metadata": meta, "status": status}


def test_a_cluster_has_its_bastion_and_machines_with_servers_and_their_resources() -> None:
    label = {"cluster.x-k8s.io/cluster-name": "one"}
    cluster = obj(
        "OpenStackCluster", "one", controlPlaneEndpoint={"host": "172.24.4.7", "port": 6443},
        apiServerFloatingIP={"id": "f1", "address": "172.24.4.7"},
        resources=[
            {"type": "network", "name": "cluster", "id": "n1"}, {"type": "floating-ip", "name": "api", "id": "f1"},
            {"type": "security-group-rule", "name": "worker-1", "id": "r1"},
        ],
    )  # fmt: skip
    machine = obj("OpenStackMachine", "worker", "BlockedInstanceNotFound", "deleted by somebody else", labels=label)
    servers = [
        obj(
            "OpenStackServer", "one-bastion", owner="OpenStackCluster-one", instanceState="ACTIVE", instanceID="s1",
            resources={"ports": [{"name": "one-bastion-0", "id": "p1"}], "volumes": [{"name": "root", "id": "v1"}]},
            addresses=[{"type": "InternalIP", "address": "10.0.0.5"}, {"type": "InternalDNS", "address": "one"}],
        ),
        obj("OpenStackServer", "worker", "InstanceBuilding", "being built", owner="OpenStackMachine-worker"),
        obj("OpenStackServer", "alone"),
    ]  # fmt: skip
    found = [line for tree in trees(NOW, [cluster], [machine], servers) for line in lines(tree)]
    assert found == [
        "✓ OpenStackCluster demo/one  (172.24.4.7:6443)",
        "├─ ✓ network cluster n1",
        "├─ ✓ floating IP api 172.24.4.7 f1",
        "├─ ✓ OpenStackServer demo/one-bastion  (ACTIVE, s1, 10.0.0.5)",
        "│  ├─ ✓ port one-bastion-0 p1",
        "│  └─ ✓ volume root v1",
        "└─ ✗ OpenStackMachine demo/worker: deleted by somebody else",
        "   └─ … OpenStackServer demo/worker: being built",
        "✓ OpenStackServer demo/alone",
    ]


def test_a_machine_of_an_absent_cluster_is_shown() -> None:
    machine = obj("OpenStackMachine", "worker", labels={"cluster.x-k8s.io/cluster-name": "gone"})
    (tree,) = trees(NOW, [], [machine], [])
    assert tree.title == "OpenStackMachine demo/worker"


LABEL = {"cluster.x-k8s.io/cluster-name": "one"}
OWNER = {"apiVersion": "cluster.x-k8s.io/v1beta2", "kind": "Cluster", "name": "one", "uid": "u"}


@pytest.mark.parametrize("meta", [{"labels": LABEL}, {"ownerReferences": [OWNER]}])
def test_machines_are_below_a_cluster_with_another_name_than_its_cluster_of_cluster_api(meta: dict[str, Any]) -> None:
    cluster = obj("OpenStackCluster", "one-7hk2x")
    cluster["metadata"] |= meta
    machines = [obj("OpenStackMachine", "worker", labels=LABEL), obj("OpenStackMachine", "other", labels={})]
    elsewhere = obj("OpenStackMachine", "worker", labels=LABEL)
    elsewhere["metadata"] |= {"namespace": "else", "uid": "elsewhere"}
    found = [line for tree in trees(NOW, [cluster], [*machines, elsewhere], []) for line in lines(tree)]
    assert found == [
        "✓ OpenStackCluster demo/one-7hk2x",
        "└─ ✓ OpenStackMachine demo/worker",
        "✓ OpenStackMachine demo/other",
        "✓ OpenStackMachine else/worker",
    ]


@pytest.mark.parametrize("name", ["one", "one-7hk2x"])
def test_a_cluster_is_found_by_its_name_and_by_that_of_its_cluster_of_cluster_api(
    name: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    memory = MemoryCluster()
    for kind, called in ((OpenStackCluster.KIND, "one-7hk2x"), (OpenStackMachine.KIND, "worker")):
        meta = {"namespace": "demo", "name": called, "labels": LABEL}
        memory.put(kind, {"metadata": meta, "spec": GOOD[kind.kind]})
    connect(monkeypatch, memory)
    cluster, machine = CliRunner().invoke(app, ["servers", name]).output.splitlines()
    assert "OpenStackCluster demo/one-7hk2x" in cluster
    assert "└─ ? OpenStackMachine demo/worker" in machine
    assert "No cluster" in CliRunner().invoke(app, ["servers", "two"]).output
