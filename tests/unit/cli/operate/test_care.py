"""`restart`, `history` and `delete` on a cluster in memory."""

from __future__ import annotations

import json
from typing import Any

import pytest
import yaml
from typer.testing import CliRunner

from stackwright.api.kinds import DAEMONSET, DEPLOYMENT, NODE, POD, SECRET, STATEFULSET
from stackwright.cli.app import app
from stackwright.cli.operate import restart
from stackwright.cli.operate.restart import RESTARTED
from stackwright.cloud.controlplane import OpenStackControlPlane
from stackwright.cloud.deployment import OpenStackDeployment
from stackwright.core.errors import TerminalError
from stackwright.runtime.memory import MemoryCluster
from support.commands import connect
from support.paths import ROOT

SPACE = "openstack"
CLOUD = {"openstack_version": "epoxy", "preset": "core", "size": "single"}


@pytest.fixture
def cluster(monkeypatch: pytest.MonkeyPatch) -> MemoryCluster:
    memory = MemoryCluster()
    connect(monkeypatch, memory)
    return memory


def called(*words: str) -> Any:
    return CliRunner().invoke(app, words)


def workload(name: str, component: str, **spec: Any) -> dict[str, Any]:
    labels = {"application": "nova", "component": component}
    spec |= {"selector": {"matchLabels": labels}, "template": {"metadata": {"labels": labels}}}
    return {"metadata": {"namespace": SPACE, "name": name, "labels": labels}, "spec": spec}


def test_a_restart_changes_only_the_named_workloads(cluster: MemoryCluster) -> None:
    cluster.put(DEPLOYMENT, workload("nova-api", "api"))
    cluster.put(STATEFULSET, workload("nova-scheduler", "scheduler"))
    cluster.put(STATEFULSET, workload("nova-compute-x", "compute", updateStrategy={"type": "OnDelete"}))
    result = called("restart", "nova-scheduler", "--no-wait")
    assert (result.exit_code, result.stdout) == (0, "StatefulSet nova-scheduler: restarted\n")
    assert [(each.verb, each.key) for each in cluster.writes] == [("patch", (SPACE, "nova-scheduler"))]
    result = called("restart", "compute", "--no-wait")
    assert "StatefulSet nova-compute-x: not restarted" in result.stdout
    assert "Deployment nova-api: restarted" in result.stdout
    template = cluster.peek(DEPLOYMENT, (SPACE, "nova-api"))["spec"]["template"]  # type: ignore[index]
    assert RESTARTED in template["metadata"]["annotations"]


def test_a_restart_of_an_unknown_name_lists_the_known_ones(cluster: MemoryCluster) -> None:
    cluster.put(DEPLOYMENT, workload("nova-api", "api"))
    result = called("restart", "heat")
    assert result.exit_code == 1
    assert "found: nova" in result.stderr


@pytest.mark.parametrize("word", ["-", ""])
def test_a_workload_without_our_labels_is_restarted_by_its_name_only(cluster: MemoryCluster, word: str) -> None:
    other = {"selector": {"matchLabels": {"app": "web"}}, "template": {"metadata": {"labels": {"app": "web"}}}}
    cluster.put(DEPLOYMENT, {"metadata": {"namespace": SPACE, "name": "web"}, "spec": other})
    assert called("restart", word, "--no-wait").exit_code != 0
    assert cluster.writes == []
    assert called("restart", "web", "--no-wait").exit_code == 0


def test_a_restart_that_never_gets_ready_ends_with_its_name(cluster: MemoryCluster) -> None:
    cluster.put(DEPLOYMENT, workload("nova-api", "api"))
    result = called("restart", "nova", "--timeout", "0")
    assert result.exit_code == 1
    assert "Deployment nova-api" in result.stderr


def test_history_lists_each_kept_revision(cluster: MemoryCluster) -> None:
    for revision, state in ((1, "superseded"), (2, "deployed")):
        labels = {"owner": "helm", "name": "openstack-nova", "version": str(revision), "status": state}
        meta = {"namespace": SPACE, "name": f"sh.helm.release.v1.openstack-nova.v{revision}", "labels": labels}
        cluster.put(SECRET, {"metadata": meta})
    found = json.loads(called("history", "-o", "json").stdout)
    assert [(each["release"], each["revision"], each["state"]) for each in found] == [
        ("openstack-nova", 1, "superseded"),
        ("openstack-nova", 2, "deployed"),
    ]
    result = called("history", "heat")
    assert result.exit_code == 1
    assert "found: openstack-nova" in result.stderr


def test_delete_prompts_and_without_a_terminal_needs_yes(cluster: MemoryCluster) -> None:
    cluster.put(OpenStackDeployment.KIND, {"metadata": {"namespace": SPACE, "name": "cloud"}, "spec": CLOUD})
    result = called("delete", "cloud")
    assert result.exit_code == 1
    assert "OpenStackDeployment openstack/cloud" in result.stderr
    assert "virtual machines, which keep running" in result.stderr
    assert "--yes" in result.stderr
    assert cluster.peek(OpenStackDeployment.KIND, (SPACE, "cloud"))
    assert called("delete", "other", "--yes").exit_code == 1
    assert cluster.peek(OpenStackDeployment.KIND, (SPACE, "cloud"))
    assert called("delete", "cloud", "--yes").exit_code == 0
    assert cluster.peek(OpenStackDeployment.KIND, (SPACE, "cloud")) is None


def test_delete_chooses_none_of_two_clouds_with_one_name(cluster: MemoryCluster) -> None:
    kinds = OpenStackDeployment.KIND, OpenStackControlPlane.KIND
    examples = yaml.safe_load_all((ROOT / "examples/control-plane.yaml").read_text())
    control_plane = next(each["spec"] for each in examples if each["kind"] == OpenStackControlPlane.KIND.kind)
    for kind, spec in zip(kinds, (CLOUD, control_plane), strict=True):
        cluster.put(kind, {"metadata": {"namespace": SPACE, "name": "cloud"}, "spec": spec})
    result = called("delete", "cloud", "--yes", "--timeout", "0")
    assert result.exit_code == 1
    assert all(f"{kind.kind} openstack/cloud" in result.stderr for kind in kinds)
    assert all(cluster.peek(kind, (SPACE, "cloud")) for kind in kinds)


def test_a_cloud_created_during_the_prompt_is_not_deleted(
    cluster: MemoryCluster, monkeypatch: pytest.MonkeyPatch
) -> None:
    meta = {"namespace": SPACE, "name": "cloud"}
    shown = cluster.put(OpenStackDeployment.KIND, {"metadata": meta, "spec": CLOUD})

    def others_meanwhile(*_: Any) -> None:
        cluster.remove(OpenStackDeployment.KIND, (SPACE, "cloud"))
        cluster.put(OpenStackDeployment.KIND, {"metadata": meta, "spec": CLOUD})

    monkeypatch.setattr("stackwright.cli.confirm.confirm", others_meanwhile)
    result = called("delete", "cloud", "--no-wait")
    assert (result.exit_code, result.stderr) == (
        1,
        "The cloud was replaced by another one of the same name. Nothing was deleted.\n",
    )
    found = cluster.peek(OpenStackDeployment.KIND, (SPACE, "cloud"))
    assert found
    assert found["metadata"]["uid"] != shown["metadata"]["uid"]
    assert "deletionTimestamp" not in found["metadata"]


def test_a_restart_waits_only_for_pods_that_are_replaced(
    cluster: MemoryCluster, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(restart, "EVERY", 0.001)
    up = {"observedGeneration": 2, "replicas": 1, "updatedReplicas": 1, "readyReplicas": 1}
    cluster.put(DEPLOYMENT, {**workload("nova-api", "api", replicas=1), "status": up})
    cluster.put(STATEFULSET, workload("nova-compute-x", "compute", updateStrategy={"type": "OnDelete"}))
    result = called("restart", "nova", "--timeout", "5")
    assert result.exit_code == 0, result.stderr
    assert result.stdout.splitlines()[-1].endswith("✓ Deployment nova-api")


def test_a_restart_does_not_wait_for_an_absent_node(cluster: MemoryCluster, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(restart, "EVERY", 0.001)
    counts = {"observedGeneration": 2, "desiredNumberScheduled": 2, "updatedNumberScheduled": 1, "numberReady": 1}
    obj = cluster.put(DAEMONSET, {**workload("nova-compute", "compute"), "status": counts})
    for node, ready in (("node-1", "True"), ("node-2", "False")):
        conditions = [{"type": "Ready", "status": ready}]
        cluster.put(NODE, {"metadata": {"name": node}, "status": {"conditions": conditions}})
        owner = {"apiVersion": "apps/v1", "kind": "DaemonSet", "name": "nova-compute", "uid": obj["metadata"]["uid"]}
        labels = {"application": "nova", "component": "compute"}
        meta = {"namespace": SPACE, "name": f"nova-compute-{node}", "labels": labels, "ownerReferences": [owner]}
        cluster.put(POD, {"metadata": meta, "spec": {"nodeName": node}, "status": {"conditions": conditions}})
    result = called("restart", "nova", "--timeout", "5")
    assert result.exit_code == 0, result.stderr
    assert result.stdout.splitlines()[-1].endswith("✓ DaemonSet nova-compute, without node node-2, which is not ready")


def test_a_restart_needs_no_right_to_read_nodes(cluster: MemoryCluster, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(restart, "EVERY", 0.001)
    cluster.put(DEPLOYMENT, workload("nova-api", "api"))
    real = cluster.list

    async def refusing(kind: Any, *more: Any) -> Any:
        if kind == NODE:
            raise TerminalError("nodes is forbidden")
        return await real(kind, *more)

    monkeypatch.setattr(cluster, "list", refusing)
    result = called("restart", "nova", "--timeout", "0.05")
    assert result.exit_code == 1 and "Not ready after" in result.stderr
