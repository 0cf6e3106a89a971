"""`doctor --nodes`: the pods, their reports, and their deletion."""

from __future__ import annotations

import asyncio
import json
from dataclasses import replace
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest

from stackwright.adapters.kubernetes.errors import MissingRight
from stackwright.api.kinds import DAEMONSET, NAMESPACE, POD, SECRET
from stackwright.core.errors import Conflict, TerminalError, TransientError
from stackwright.core.findings import Finding
from stackwright.examine.demand import Demand
from stackwright.examine.probe import pod, script
from stackwright.examine.probe.reports import Report, findings, reported
from stackwright.examine.probe.run import PREFIX, Pace, examine
from stackwright.runtime.memory import MemoryCluster
from tests.unit.examine.examined import node

SWITCH = ("openvswitch", "enabled")
COMPUTE = ("openstack-compute-node", "enabled")
DEMAND = Demand(
    clouds={("openstack", "cloud"): "OpenStackDeployment"},
    modules={SWITCH: frozenset({"openvswitch"}), COMPUTE: frozenset({"kvm"})},
    domains=frozenset({"cluster.local"}),
)
REPORT: dict[str, Any] = {
    "disk": 50 << 30,
    "cgroup": 2,
    "kernel": ["openvswitch", "kvm", "tun"],
    "hugepages": 0,
    "domain": "cluster.local",
    "address": "10.96.0.1",
    "skew": -0.3,
    "errors": {},
}


def ended(message: str, name: str = "node1") -> dict[str, Any]:
    """A pod whose probe has ended."""
    state = {"terminated": {"exitCode": 0, "message": message}}
    return {
        "metadata": {"name": f"nodes-{name}"},
        "spec": {"nodeName": name},
        "status": {"initContainerStatuses": [{"name": pod.PROBE, "state": state}]},
    }


def found(**changes: Any) -> list[Finding]:
    return findings([node()], [ended(json.dumps({**REPORT, **changes}))], DEMAND)


def test_a_fit_node_has_its_facts() -> None:
    one, domain = found()
    assert (one.level, one.text) == (
        "ok",
        "50.0 GiB free, cgroup v2, clock -0.3 s, openvswitch, kvm, tun, 0.0 GiB of huge pages",
    )
    assert domain.level == "ok"


@pytest.mark.parametrize(
    ("changes", "level", "part"),
    [
        ({"disk": 1 << 30}, "note", "1.0 GiB are free"),
        ({"cgroup": 1}, "note", "cgroup v1"),
        ({"skew": 60.2}, "problem", "60 s ahead of that of the API server"),
        ({"skew": -60.2}, "problem", "60 s behind that"),
        ({"errors": {"address": "gaierror: no name"}}, "problem", "Pods cannot resolve names of the cluster: gaierror"),
        ({"errors": {"skew": "TimeoutError: "}}, "note", "skew is not known"),
        ({"kernel": ["kvm", "tun"]}, "note", "does not provide openvswitch"),
        ({"kernel": ["kvm"]}, "problem", "neither the kernel module openvswitch nor /dev/net/tun"),
        ({"kernel": ["openvswitch"]}, "note", "does not provide kvm"),
        ({"domain": "k8s.example"}, "problem", "The domain of this cluster is k8s.example"),
    ],
)
def test_a_fault_of_a_node_is_one_finding(changes: dict[str, Any], level: str, part: str) -> None:
    [one] = [each for each in found(**changes) if each.level != "ok"]
    assert one.level == level and part in one.text


def test_a_node_needs_the_modules_of_its_labels_only() -> None:
    bare = findings([node(labels={})], [ended(json.dumps({**REPORT, "kernel": []}))], DEMAND)
    assert all(each.level == "ok" for each in bare)


@pytest.mark.parametrize(
    ("message", "part"),
    [
        ("", "no JSON object"),
        ("{", "no JSON object"),
        ("[]", "no JSON object"),
        ("x" * 5000, "more than 4096 characters"),
        (json.dumps({**REPORT, "disk": -1}), "disk"),
        (json.dumps({**REPORT, "disk": "1"}), "disk"),
        (json.dumps({**REPORT, "skew": float("nan")}), "skew"),
        (json.dumps({**REPORT, "domain": "d" * 301}), "domain"),
        (json.dumps({**REPORT, "kernel": ["a"] * 11}), "kernel"),
        (json.dumps({"surprise": 1}), "surprise"),
    ],
)
def test_a_report_out_of_bounds_is_refused(message: str, part: str) -> None:
    [why] = reported([ended(message)]).values()
    assert isinstance(why, str) and part in why
    [one] = findings([node()], [ended(message)], DEMAND)
    assert one.level == "problem" and part in one.text


def test_a_node_without_report_has_the_cause() -> None:
    waiting = {"waiting": {"reason": "ErrImagePull", "message": "no such image"}}
    pulling = ended("")
    pulling["status"]["initContainerStatuses"][0] |= {"state": waiting, "image": "r.example/operator:1"}
    [one] = findings([node()], [pulling], DEMAND)
    assert "ImagePullFailed" in one.text and one.level == "problem"
    [none] = findings([node()], [], DEMAND)
    assert "did not run within the time limit" in none.text


def test_the_pod_has_no_privilege() -> None:
    """As Pod Security's level `restricted` requires, which the namespace enforces."""
    spec = pod.daemonset("a", "image", "print()")["spec"]["template"]["spec"]
    assert pod.namespace("a")["metadata"]["labels"]["pod-security.kubernetes.io/enforce"] == "restricted"
    assert spec["automountServiceAccountToken"] is False and spec["securityContext"]["runAsNonRoot"] is True
    assert not {"hostNetwork", "hostPID", "hostIPC"} & set(spec)
    assert [sorted(set(volume) - {"name"}) for volume in spec["volumes"]] == [["emptyDir"]]
    for container in (*spec["initContainers"], *spec["containers"]):
        assert container["securityContext"] == {
            "allowPrivilegeEscalation": False,
            "readOnlyRootFilesystem": True,
            "capabilities": {"drop": ["ALL"]},
        }
        assert "memory" in container["resources"]["limits"]


async def test_pods_are_on_the_nodes_of_the_services_only() -> None:
    cluster, demand = Kubelets(), replace(DEMAND, labels={SWITCH: ("neutron",), ("none", "x"): ("other",)})
    await examine(cluster, [node()], "image", demand, lambda text: None, Pace(1))
    [affinity] = [spec["template"]["spec"]["affinity"]["nodeAffinity"] for spec in cluster.applied]
    [terms] = [each["nodeSelectorTerms"] for each in affinity.values()]
    assert terms == [{"matchExpressions": [{"key": "openvswitch", "operator": "In", "values": ["enabled"]}]}]


OPERATOR = {
    "metadata": {"namespace": "stackwright", "name": "stackwright"},
    "spec": {"template": {"spec": {"imagePullSecrets": [{"name": "mine"}, {"name": "other"}, {"name": "gone"}]}}},
}


class Kubelets(MemoryCluster):
    """Creates the pod of the DaemonSet, which reports at once, unless `silent`."""

    silent = False
    forbidden: Any = None

    def __init__(self) -> None:
        super().__init__()
        self.applied: list[dict[str, Any]] = []  # specs of DaemonSets

    async def apply(self, kind: Any, obj: Any, manager: str) -> Any:
        if kind == self.forbidden:
            raise TerminalError("not allowed")
        applied = await super().apply(kind, obj, manager)
        if kind == DAEMONSET:
            self.applied.append(obj["spec"])
        if kind == DAEMONSET and not self.silent:
            one = ended(json.dumps(REPORT))
            self.put(POD, {**one, "metadata": {**one["metadata"], "namespace": obj["metadata"]["namespace"]}})
        return applied


async def examined(cluster: MemoryCluster, sleep: Any = asyncio.sleep, **more: Any) -> list[Finding]:
    nodes = more.get("nodes", [node()])
    return await examine(cluster, nodes, "image", DEMAND, lambda text: None, Pace(3, 0.0, sleep))


def left(cluster: MemoryCluster) -> list[str]:
    """Namespaces of examinations."""
    return [name for each in cluster.all(NAMESPACE) if (name := each["metadata"]["name"]).startswith(PREFIX)]


async def test_nodes_report_and_the_namespace_is_deleted() -> None:
    cluster = Kubelets()
    windows = node("w", labels={"kubernetes.io/os": "windows"})
    assert [each.level for each in await examined(cluster, nodes=[node(), windows])] == ["ok", "ok"]
    assert left(cluster) == []


async def test_the_pods_use_the_pull_secrets_of_the_operator() -> None:
    """Otherwise no node could pull from a registry with a password."""
    cluster = Kubelets()
    for name, type_ in (("mine", "kubernetes.io/dockerconfigjson"), ("other", "Opaque")):
        meta = {"namespace": "stackwright", "name": name}
        cluster.put(SECRET, {"metadata": meta, "type": type_, "data": {".dockerconfigjson": "e30="}})
    copied: list[Any] = []

    async def sleep(seconds: float) -> None:
        copied.extend(each for each in await cluster.list(SECRET) if each["metadata"]["namespace"].startswith(PREFIX))

    cluster.silent = True
    await examine(cluster, [node()], "image", DEMAND, lambda text: None, Pace(2, 0.0, sleep), OPERATOR)
    assert [spec["template"]["spec"]["imagePullSecrets"] for spec in cluster.applied] == [[{"name": "mine"}]]
    assert [(each["metadata"]["name"], each["data"]) for each in copied] == [("mine", {".dockerconfigjson": "e30="})]


async def test_pull_secrets_that_the_user_may_not_read_prevent_no_examination() -> None:
    class Forbidding(Kubelets):
        async def get(self, kind: Any, key: Any) -> Any:
            if kind == SECRET:
                raise TerminalError("not allowed")
            return await super().get(kind, key)

    cluster = Forbidding()
    found = await examine(cluster, [node()], "image", DEMAND, lambda text: None, Pace(1), OPERATOR)
    assert [each.level for each in found] == ["ok", "ok"]


async def test_the_time_is_limited() -> None:
    cluster, slept = Kubelets(), list[float]()
    cluster.silent = True

    async def sleep(seconds: float) -> None:
        slept.append(seconds)

    [one] = await examined(cluster, sleep)
    assert "within the time limit" in one.text and len(slept) == 2
    assert left(cluster) == []


@pytest.mark.parametrize("error", [asyncio.CancelledError, KeyboardInterrupt])
async def test_the_namespace_is_deleted_after_an_interruption(error: type[BaseException]) -> None:
    cluster = Kubelets()
    cluster.silent = True

    async def sleep(seconds: float) -> None:
        assert left(cluster), "it is there meanwhile"
        raise error

    with pytest.raises(error):
        await examined(cluster, sleep)
    assert left(cluster) == []


@pytest.mark.parametrize("kind", [NAMESPACE, DAEMONSET])
async def test_a_refusal_is_a_finding(kind: Any) -> None:
    cluster = Kubelets()
    cluster.forbidden = kind
    [one] = await examined(cluster)
    assert one.level == "problem" and "not allowed" in one.text
    assert left(cluster) == []


@pytest.mark.parametrize(
    ("error", "remedy"),
    [
        (MissingRight("a right"), "Use a cluster administrator."),
        (TerminalError("admission webhook denied it"), "Repeat the command after that was corrected."),
    ],
)
@pytest.mark.parametrize("kind", [NAMESPACE, DAEMONSET])
async def test_only_a_missing_right_needs_an_administrator(kind: Any, error: Exception, remedy: str) -> None:
    class Refusing(Kubelets):
        async def apply(self, given: Any, obj: Any, manager: str) -> Any:
            if given == kind:
                raise error
            return await super().apply(given, obj, manager)

    [one] = await examined(Refusing())
    assert one.remedy == remedy


@pytest.mark.parametrize("error", [TransientError("no answer"), Conflict("it was changed", DAEMONSET, ("space", "x"))])
async def test_what_may_succeed_next_time_is_repeated(error: Exception) -> None:
    class Failing(Kubelets):
        async def apply(self, kind: Any, obj: Any, manager: str) -> Any:
            if kind == DAEMONSET:
                raise error
            return await super().apply(kind, obj, manager)

    [one] = await examined(Failing())
    assert (one.remedy, str(error) in one.text) == ("Repeat the command.", True)


@pytest.mark.parametrize("kind", [NAMESPACE, DAEMONSET])
async def test_an_answer_that_got_lost_leaves_nothing(kind: Any) -> None:
    class Unsure(Kubelets):
        async def apply(self, given: Any, obj: Any, manager: str) -> Any:
            applied = await super().apply(given, obj, manager)
            if given == kind:
                raise TransientError("no answer")
            return applied

    cluster = Unsure()
    levels = [each.level for each in await examined(cluster)]
    assert levels == (["ok", "ok"] if kind == NAMESPACE else ["problem"])
    assert left(cluster) == []


async def test_all_nodes_are_waited_for() -> None:
    cluster, slept = Kubelets(), list[float]()

    async def sleep(seconds: float) -> None:
        slept.append(seconds)
        [space] = left(cluster)
        late = ended(json.dumps(REPORT), "node2")
        cluster.put(POD, {**late, "metadata": {**late["metadata"], "namespace": space}})

    assert [each.level for each in await examined(cluster, sleep, nodes=[node(), node("node2")])] == ["ok"] * 3
    assert len(slept) == 1


async def test_a_namespace_that_cannot_be_deleted_is_named() -> None:
    class Stuck(Kubelets):
        async def delete(self, kind: Any, key: Any, uid: str = "") -> None:
            raise TransientError("no answer")

    cluster = Stuck()
    *_, last = await examined(cluster)
    assert last.remedy == f"`kubectl delete namespace {left(cluster)[0]}`"


def test_the_script_reads_the_kernel_of_its_node(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    for folder in ("sys/fs/cgroup", "sys/module/openvswitch", "sys/class/misc/tun", "etc"):
        (tmp_path / folder).mkdir(parents=True)
    (tmp_path / "sys/fs/cgroup/cgroup.controllers").touch()
    (tmp_path / "etc/resolv.conf").write_text(
        "nameserver 10.96.0.10\nsearch a.svc.k8s.example svc.k8s.example k8s.example\n"
    )
    for size, count in ((2048, 3), (1048576, 1)):
        pages = tmp_path / f"sys/kernel/mm/hugepages/hugepages-{size}kB"
        pages.mkdir(parents=True)
        (pages / "nr_hugepages").write_text(f"{count}\n")
    monkeypatch.setattr(script.socket, "getaddrinfo", lambda name, port: [(0, 0, 0, "", ("10.96.0.1", port))])
    monkeypatch.delenv("KUBERNETES_SERVICE_HOST", raising=False)
    told = Report.model_validate_json(json.dumps(script.report(str(tmp_path), "kubernetes.default", tmp_path)))
    assert told.kernel == ["openvswitch", "tun"] and told.cgroup == 2 and told.domain == "k8s.example"
    assert told.hugepages == (1 << 30) + 3 * (2 << 20) and told.address == "10.96.0.1"
    assert told.disk is not None
    assert set(told.errors) == {"skew"}


def test_the_clock_is_compared_with_that_of_the_server(monkeypatch: pytest.MonkeyPatch) -> None:
    """Whose header has whole seconds: half of one is added to it."""
    asked: list[tuple[str, int]] = []

    class Connection:
        def __init__(self, host: str, port: int, **_: Any) -> None:
            asked.append((host, port))

        def request(self, *_: str) -> None: ...

        def getresponse(self) -> Any:
            return SimpleNamespace(getheader=lambda *_: "Tue, 14 Nov 2023 22:13:20 GMT")

    monkeypatch.setenv("KUBERNETES_SERVICE_HOST", "10.96.0.1")
    monkeypatch.setenv("KUBERNETES_SERVICE_PORT", "443")
    monkeypatch.setattr(script.http.client, "HTTPSConnection", Connection)
    for now, ahead in ((1_700_000_000.5, 0.0), (1_700_000_010.5, 10.0), (1_699_999_990.5, -10.0)):
        monkeypatch.setattr(script, "time", SimpleNamespace(time=lambda now=now: now))
        assert script.skew() == ahead
    assert set(asked) == {("10.96.0.1", 443)}


def test_free_space_is_what_others_than_root_may_use(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    disk = SimpleNamespace(f_blocks=9, f_bfree=7, f_bavail=5, f_frsize=4096, f_bsize=512)
    monkeypatch.setattr(script, "os", SimpleNamespace(statvfs=lambda _: disk, environ={}))
    assert script.report("/disk", "localhost", tmp_path)["disk"] == 5 * 4096


def test_a_pod_without_search_list_tells_no_domain() -> None:
    assert script.domain("nameserver 10.96.0.10\n") == ""
