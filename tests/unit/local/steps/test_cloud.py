"""The step of `up` that applies the cloud while the operator that checks it does not exist yet."""

from __future__ import annotations

import json
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest

from stackwright.core.settings import OPERATOR_NAMESPACE
from stackwright.local import waiting
from stackwright.local.cluster import bringup
from stackwright.local.commands import LocalError
from stackwright.local.config import LocalCluster
from stackwright.local.host import cgroups
from stackwright.local.steps.context import Context
from stackwright.local.steps.openstack import charts, cloud, token
from support.clock import Clock

NOBODY = 'failed calling webhook "validate": no endpoints available for service "stackwright-webhook"'
CONDITION = {"type": "Ready", "status": "True", "reason": "Ready", "message": "", "observedGeneration": 1}
READY = {
    "kind": "OpenStackDeployment",
    "metadata": {"generation": 1, "namespace": "openstack"},
    "status": {"conditions": [CONDITION]},
}
ALIVE, DEAD = "a" * 64, "d" * 64
METRICS = """# HELP stackwright_queue_depth Keys in the queue, waiting for a worker
stackwright_queue_depth 0.0
stackwright_reconciles_total{kind="cloud",outcome="unchanged"} 2.0
stackwright_reconciles_total{kind="controlplane",outcome="changed"} 1.0
stackwright_reconciles_total{kind="helmbundle",outcome="changed"} 1.0
"""


def pod(name: str, *, container_id: str = ALIVE, ready: str = "True", owner: str = "ReplicaSet") -> Any:
    meta = {"name": name, "namespace": "openstack", "ownerReferences": [{"kind": owner}]}
    container = {"name": name, "ports": [{"name": "metrics-0", "containerPort": 9090}]}
    status = {
        "phase": "Running",
        "conditions": [{"type": "Ready", "status": ready}],
        "containerStatuses": [{"containerID": f"containerd://{container_id}", "state": {"running": {}}}],
    }
    return {"metadata": meta, "spec": {"nodeName": "node1", "containers": [container]}, "status": status}


class Kubectl:
    def __init__(self, *refusals: str, clouds: tuple[Any, ...] = (READY,), metrics: str = METRICS) -> None:
        self.refusals = list(refusals)
        self.applied = 0
        self.clouds = clouds
        self.metrics = metrics
        self.operator = [pod("stackwright")]
        self.pods = [pod("nova-api"), pod("a-job", ready="False", owner="Job")]

    def __call__(self, ctx: Context, *words: str, stdin: str | None = None) -> str:
        if words[:2] == ("get", "--raw"):
            return self.metrics
        if words[0] == "get":
            items = self.clouds
            if words[1] == "pods":
                items = tuple(self.operator if words[3] == OPERATOR_NAMESPACE else self.pods)
            return json.dumps({"items": items})
        if self.refusals:
            raise LocalError(self.refusals.pop(0))
        self.applied += 1
        return ""


@pytest.fixture(autouse=True)
def clock(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(waiting, "time", Clock())
    groups = {"kubepods", ALIVE}
    monkeypatch.setattr(cgroups, "names", lambda group: groups if group == "stackwright/node1" else set[str]())


def applied(monkeypatch: pytest.MonkeyPatch, kubectl: Kubectl) -> list[str]:
    told: list[str] = []
    monkeypatch.setattr(charts, "kubectl", kubectl)
    cloud.run(Context(LocalCluster.discover(), manifest=Path("cloud.yaml"), applicable=str), told.append)
    return told


def test_an_unavailable_webhook_causes_a_wait(monkeypatch: pytest.MonkeyPatch) -> None:
    other = 'failed calling webhook "validate": connection refused'
    kubectl = Kubectl(NOBODY, NOBODY, other)
    said = "waiting for the admission webhook of the operator: "
    assert applied(monkeypatch, kubectl) == [said + NOBODY, said + other], "each cause once, after a moment"
    assert kubectl.applied == 1


def test_a_dry_run_waits_for_the_webhook_and_the_user_is_asked_once(monkeypatch: pytest.MonkeyPatch) -> None:
    refusals, asked = [NOBODY, NOBODY], list[Path]()

    def applicable(file: Path) -> str:
        if refusals:
            raise LocalError(f"document 1: {refusals.pop()}")
        asked.append(file)
        return "confirmed"

    kubectl = Kubectl(NOBODY)
    monkeypatch.setattr(charts, "kubectl", kubectl)
    cloud.run(Context(LocalCluster.discover(), manifest=Path("cloud.yaml"), applicable=applicable), lambda text: None)
    assert (len(asked), kubectl.applied) == (1, 1)


def test_a_rejection_of_the_webhook_is_reported_at_once(monkeypatch: pytest.MonkeyPatch) -> None:
    kubectl = Kubectl('admission webhook "validate" denied the request: spec.nothing: unknown field')
    with pytest.raises(LocalError, match="denied the request"):
        applied(monkeypatch, kubectl)
    assert not kubectl.applied


def test_a_webhook_is_not_waited_for_without_end(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(cloud, "WEBHOOK_LIMIT", -1.0)
    with pytest.raises(LocalError, match="no endpoints available"):
        applied(monkeypatch, Kubectl(NOBODY))


def doubts(monkeypatch: pytest.MonkeyPatch, kubectl: Kubectl) -> list[str]:
    """The wait of the step; empty when it is done."""
    monkeypatch.setattr(charts, "kubectl", kubectl)
    ctx = Context(LocalCluster.discover())
    missing = cloud._missing(ctx, cloud.clouds(ctx))
    assert cloud.done(ctx) == (not missing)
    return missing


def test_a_cloud_that_serves_since_the_last_start_is_ready(monkeypatch: pytest.MonkeyPatch) -> None:
    assert doubts(monkeypatch, Kubectl()) == []


def test_a_status_older_than_the_start_of_the_node_does_not_count(monkeypatch: pytest.MonkeyPatch) -> None:
    kubectl = Kubectl()
    kubectl.pods.append(pod("keystone-api", container_id=DEAD))
    assert doubts(monkeypatch, kubectl) == ["Pod openstack/keystone-api has not started since the start of its node"]
    kubectl = Kubectl()
    kubectl.pods.append(pod("keystone-api", ready="False"))
    assert doubts(monkeypatch, kubectl) == ["Pod openstack/keystone-api is not ready"]


def test_whether_a_container_lives_does_not_depend_on_clocks(monkeypatch: pytest.MonkeyPatch) -> None:
    """A container from before the node's start may have a later time than one after it, if the clock was set back."""
    before, after = pod("before", container_id=DEAD), pod("after")
    for each, start in ((before, "2026-11-24T13:00:00Z"), (after, "2026-11-24T12:00:00Z")):
        each["status"]["containerStatuses"][0]["state"]["running"]["startedAt"] = start
    kubectl = Kubectl()
    kubectl.pods += [after, before]
    assert doubts(monkeypatch, kubectl) == ["Pod openstack/before has not started since the start of its node"]


def test_a_pod_of_a_node_of_another_machine_is_believed(monkeypatch: pytest.MonkeyPatch) -> None:
    kubectl, elsewhere = Kubectl(), pod("elsewhere", container_id=DEAD)
    elsewhere["spec"]["nodeName"] = "other"
    kubectl.pods.append(elsewhere)
    assert doubts(monkeypatch, kubectl) == []


def test_a_terminating_or_completed_pod_need_not_be_ready(monkeypatch: pytest.MonkeyPatch) -> None:
    kubectl, going, ended = Kubectl(), pod("going", ready="False"), pod("ended", ready="False")
    going["metadata"]["deletionTimestamp"] = "2026-11-24T12:00:01Z"
    ended["status"]["phase"] = "Succeeded"
    kubectl.pods += [going, ended]
    assert doubts(monkeypatch, kubectl) == []


def test_a_status_older_than_the_start_of_the_operator_does_not_count(monkeypatch: pytest.MonkeyPatch) -> None:
    kubectl = Kubectl()
    kubectl.operator = [pod("stackwright", container_id=DEAD)]
    assert doubts(monkeypatch, kubectl) == ["Pod openstack/stackwright has not started since the start of its node"]
    kubectl.operator = []
    assert doubts(monkeypatch, kubectl) == ["the operator is not running"]
    unseen = METRICS.replace('kind="cloud"', 'kind="health"')
    said = ["the operator has not processed any OpenStackDeployment since its start"]
    assert doubts(monkeypatch, Kubectl(metrics=unseen)) == said
    busy = METRICS.replace("depth 0.0", "depth 3.0")
    assert doubts(monkeypatch, Kubectl(metrics=busy)) == ["the operator has 3 objects in its queue"]


@pytest.mark.parametrize("outcome", ["conflict", "error", "waiting", "refused", "gone"])
def test_a_reconcile_without_a_report_proves_no_status(monkeypatch: pytest.MonkeyPatch, outcome: str) -> None:
    failed = METRICS.replace('kind="cloud",outcome="unchanged"', f'kind="cloud",outcome="{outcome}"')
    said = ["the operator has not processed any OpenStackDeployment since its start"]
    assert doubts(monkeypatch, Kubectl(metrics=failed)) == said
    assert doubts(monkeypatch, Kubectl(metrics=failed + METRICS)) == [], "an earlier conflict does not matter"


def test_every_kind_of_cloud_is_waited_for(monkeypatch: pytest.MonkeyPatch) -> None:
    waiting_for = {**CONDITION, "status": "False", "message": "Nova: installing"}
    plane = {**READY, "kind": "OpenStackControlPlane", "status": {"conditions": [waiting_for]}}
    assert doubts(monkeypatch, Kubectl(clouds=(READY, plane))) == ["Nova: installing"]
    assert "openstackcontrolplanes.core.openstack.org" in cloud.KINDS


def test_a_token_is_issued_in_each_run(monkeypatch: pytest.MonkeyPatch) -> None:
    with_identity = {**READY, "status": {"conditions": [CONDITION, {**CONDITION, "type": "Keystone"}]}}
    monkeypatch.setattr(charts, "kubectl", Kubectl(clouds=(with_identity,)))
    ctx = Context(LocalCluster.discover())
    assert token.skipped(ctx) is None
    assert not token.done(ctx)
    monkeypatch.setattr(charts, "kubectl", Kubectl())
    assert token.skipped(ctx) == "no cloud has an identity service"


def test_no_token_is_requested_from_a_cloud_without_a_wait(monkeypatch: pytest.MonkeyPatch) -> None:
    starting = {**READY, "status": {"conditions": [CONDITION, {**CONDITION, "type": "Keystone", "status": "False"}]}}
    monkeypatch.setattr(charts, "kubectl", Kubectl(clouds=(starting,)))
    assert token.skipped(Context(LocalCluster.discover(), cloud=False)) == "--no-cloud was given"


def test_a_step_that_does_not_apply_is_shown_as_skipped(monkeypatch: pytest.MonkeyPatch) -> None:
    def never(ctx: Context) -> bool:
        raise AssertionError("a skipped step is neither asked nor run")

    step: Any = SimpleNamespace(TITLE="Virtual machine", skipped=lambda ctx: "--no-vm was given", done=never)
    monkeypatch.setattr(bringup, "steps", lambda ctx: (step,))
    told: list[tuple[str, str]] = []
    bringup.up(Context(LocalCluster.discover()), never, lambda *words: told.append(words))  # type: ignore[arg-type]
    assert told == [("Virtual machine", "--no-vm was given")]
