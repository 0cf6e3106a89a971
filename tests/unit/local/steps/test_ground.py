"""The base of the local cluster and the steps on it: when each has work, and in which order."""

from __future__ import annotations

import json
import stat
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest

from stackwright.local import config, evidence
from stackwright.local.commands import LocalError, quiet
from stackwright.local.config import LocalCluster
from stackwright.local.host import cgroups, kernel, machine, mounts, network, services, supervisor
from stackwright.local.kubernetes import api, dns_query
from stackwright.local.node import power
from stackwright.local.steps import context, preflight
from stackwright.local.steps.context import Context
from stackwright.local.steps.kubernetes import api as api_step
from stackwright.local.steps.kubernetes import certificates, control_plane, dns, host_setup
from stackwright.local.steps.openstack import charts, cloud, hosts, volumes

NODES = ["node1", "node2"]


@pytest.fixture
def ctx(tmp_path: Path) -> Context:
    made = Context(LocalCluster(tmp_path / "state", tmp_path / "cache", tmp_path / "run"), node_count=2)
    images: list[Any] = [SimpleNamespace(reference=f"stackwright.local/{n}:1") for n in ("coredns", "operator")]
    made.images = images
    return made


class Machine:
    """State and actions of a stand-in for the kernel."""

    def __init__(self, patch: pytest.MonkeyPatch) -> None:
        self.did: list[str] = []
        self.on, self.attached, self.processes = set(NODES), set(NODES), {1}
        self.supervised = self.network = self.uplink = True
        self.wanting: dict[str, int] = {}
        patch.setattr(host_setup, "TUN", Path("/"))
        patch.setattr(network, "NAMESPACE", Path("/"))
        patch.setattr(supervisor, "alive", lambda cluster: self.supervised)
        patch.setattr(kernel, "too_small", lambda: self.wanting)
        patch.setattr(network, "is_ready", lambda: self.network)
        patch.setattr(network, "is_attached", lambda node: node.name in self.attached)
        patch.setattr(power, "is_on", lambda node: node.name in self.on)
        patch.setattr(services, "is_current", lambda cluster, service: self.uplink)
        patch.setattr(cgroups, "processes", lambda: self.processes)
        patch.setattr(mounts, "below", lambda top: [top])
        patch.setattr(cgroups, "kill", self.doing("kill"))
        patch.setattr(mounts, "unmount", self.doing("unmount"))
        patch.setattr(network, "ensure", self.doing("network"))
        patch.setattr(kernel, "ensure", self.doing("kernel"))
        patch.setattr(supervisor, "start", self.doing("supervisor"))
        patch.setattr(services, "ensure", self.doing("uplink"))
        for name in ("cut", "boot"):
            patch.setattr(power, name, lambda cluster, node, name=name: self.did.append(f"{name} {node.name}"))
        patch.setattr(power, "connect", lambda node, nodes: self.did.append(f"connect {node.name}"))

    def doing(self, name: str) -> Any:
        told = name in ("kill", "unmount")
        return lambda *words, **more: self.did.append(f"{name} {words[0]}" if told else name)


@pytest.fixture
def there(ctx: Context, monkeypatch: pytest.MonkeyPatch) -> Machine:
    context.remember(ctx)
    return Machine(monkeypatch)


@pytest.mark.parametrize(
    ("what", "value"),
    [
        ("supervised", False),
        ("wanting", {"vm.max_map_count": 1}),
        ("network", False),
        ("uplink", False),
        ("on", {"node1"}),
        ("attached", {"node2"}),
    ],
)
def test_the_ground_is_laid_again_when_any_of_it_is_missing(
    ctx: Context, there: Machine, what: str, value: Any
) -> None:
    assert host_setup.done(ctx)
    setattr(there, what, value)
    assert not host_setup.done(ctx)


def test_another_number_of_nodes_is_something_to_do(ctx: Context, there: Machine) -> None:
    ctx.node_count = 1
    assert not host_setup.done(ctx)
    host_setup.run(ctx, quiet)
    assert host_setup.done(ctx)


def test_a_node_that_is_off_is_cleaned_before_it_starts_and_others_continue(ctx: Context, there: Machine) -> None:
    """Leftovers of a power failure would be treated as its own."""
    there.on = {"node1"}
    (ctx.cluster.run / "service").mkdir(parents=True)
    host_setup.run(ctx, quiet)
    started = ["connect node1", "cut node2", "boot node2", "connect node2"]
    assert there.did == ["network", "kernel", *started, "supervisor", "uplink"]
    assert (ctx.cluster.run / "service").exists(), "something lives, and this is of it"


def test_leftovers_of_a_power_failure_are_removed_first(ctx: Context, there: Machine) -> None:
    there.processes = set()
    (ctx.cluster.run / "service").mkdir(parents=True)
    host_setup.run(ctx, quiet)
    assert there.did[:3] == [f"kill {config.VM_CGROUP}", f"unmount {[ctx.cluster.run]}", "network"]
    assert [path.name for path in ctx.cluster.run.iterdir()] == ["home"]


# ---- certificates, control plane, names of the cluster


def test_a_missing_kubeconfig_is_recreated(ctx: Context) -> None:
    certificates.run(ctx, quiet)
    assert certificates.done(ctx)
    every = [path for path, _ in certificates._kubeconfigs(ctx.cluster, ctx.nodes)]
    assert len(every) == 5
    for path in (*every, ctx.cluster.kubeconfig):
        path.unlink()
        assert not certificates.done(ctx), path
        certificates.run(ctx, quiet)
        assert certificates.done(ctx)


def test_the_control_plane_is_done_when_its_api_responds(ctx: Context, monkeypatch: pytest.MonkeyPatch) -> None:
    answers: list[str | None] = ["connection refused", None]
    monkeypatch.setattr(services, "is_current", lambda cluster, service: True)
    monkeypatch.setattr(api, "of", lambda cluster: SimpleNamespace(unready=lambda: answers.pop(0)))
    assert [api_step.done(ctx), api_step.done(ctx)] == [False, True]


def test_the_audit_log_and_the_data_of_etcd_are_for_root_alone(ctx: Context, monkeypatch: pytest.MonkeyPatch) -> None:
    """They contain the content of Secrets, and the users that requested it."""
    monkeypatch.setattr(services, "ensure", lambda cluster, *wanted: None)
    control_plane.run(ctx, quiet)
    for path in (ctx.cluster.logs / "audit", ctx.cluster.etcd_data):
        assert stat.S_IMODE(path.stat().st_mode) == 0o700


@pytest.mark.parametrize(
    ("text", "upstream"),
    [
        ("nameserver 192.0.2.1\n", True),
        ("nameserver 127.0.0.53\n", False),
        ("nameserver ::1\nnameserver 127.0.0.1\n", False),
        ("nameserver 127.0.0.1\nnameserver 192.0.2.1\n", True),
        ("# nameserver 192.0.2.1\nsearch example.org\n", False),
    ],
)
def test_dns_queries_are_forwarded_to_servers_that_a_pod_can_reach(
    ctx: Context, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, text: str, upstream: bool
) -> None:
    """A query to a loopback address would reach the pod itself, which would query itself again."""
    (tmp_path / "resolv.conf").write_text(text)
    monkeypatch.setattr(machine, "resolv_conf", lambda: tmp_path / "resolv.conf")
    assert ("forward . " in json.dumps(dns.wanted(ctx))) is upstream


def test_pods_of_cluster_dns_are_recreated_only_for_another_configuration(
    ctx: Context, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def annotations(server: str, image: str = "1") -> Any:
        (tmp_path / "resolv.conf").write_text(f"nameserver {server}\n")
        other: Any = SimpleNamespace(reference=f"stackwright.local/coredns:{image}")
        ctx.images = [other]
        deployment = dns.wanted(ctx)[-1][1]
        return deployment["spec"]["template"]["metadata"]["annotations"]

    monkeypatch.setattr(machine, "resolv_conf", lambda: tmp_path / "resolv.conf")
    monkeypatch.setattr(dns_query, "resolves", lambda name, server: True)
    assert annotations("192.0.2.1") == annotations("192.0.2.1", image="2")
    assert annotations("192.0.2.1") != annotations("127.0.0.1")


# ---- the cloud


def test_each_service_has_its_public_name_on_this_machine(ctx: Context, monkeypatch: pytest.MonkeyPatch) -> None:
    """Those of the dashboard, of consoles and of objects are opened by browsers, which know no other way."""
    found = [{"spec": {"public_domain_name": "b.example"}}, {"spec": {}}, {"spec": {"public_domain_name": "a.example"}}]
    monkeypatch.setattr(cloud, "clouds", lambda ctx: found)
    one, two = (line.split() for line in hosts.lines(ctx))
    assert (one[0], two[0]) == (ctx.cluster.node(1).address,) * 2
    wanted = {"keystone", "glance", "placement", "cinder", "object-store", "nova", "neutron", "novncproxy", "horizon"}
    assert {f"{name}.a.example" for name in wanted} <= set(one[1:])
    assert [name.replace(".a.", ".b.") for name in one[1:]] == two[1:]


def test_any_problem_of_the_machine_ends_up_and_all_are_reported(ctx: Context, monkeypatch: pytest.MonkeyPatch) -> None:
    found = ["no room: add a disk", "port 6443 is taken"]
    monkeypatch.setattr(machine, "problems", lambda cluster: found)
    for count in (2, 1):
        del found[count:]
        with pytest.raises(LocalError) as told:
            preflight.run(ctx, quiet)
        assert str(told.value).splitlines()[1:] == [f"  ✗ {each}" for each in found]
        assert not preflight.done(ctx)
    found.clear()
    preflight.run(ctx, quiet)
    assert preflight.done(ctx)


def test_volumes_are_of_the_default_class_and_are_not_waited_for(ctx: Context, monkeypatch: pytest.MonkeyPatch) -> None:
    asked: list[tuple[Any, ...]] = []
    monkeypatch.setattr(charts, "install", lambda *words, **more: asked.append((*words[1:], more)))
    volumes.run(ctx, quiet)
    (release, namespace, chart, values, more) = asked[0]
    assert (release, namespace, chart.name) == ("local-volume-provisioner", "kube-system", "local-volume-provisioner")
    assert values["storage_class"] == {"default": True}
    assert values["volumes"] == {"path": str(ctx.cluster.state / "volumes")}
    assert more == {"wait": False}


@pytest.mark.parametrize("theirs", [False, True])
def test_processes_of_pods_are_searched_on_this_machine_only_for_a_local_cluster(
    ctx: Context, monkeypatch: pytest.MonkeyPatch, theirs: bool
) -> None:
    ctx.kubeconfig = Path("theirs") if theirs else None
    asked: list[Any] = []
    pod = {"metadata": {"namespace": "stackwright", "name": "operator"}}
    monkeypatch.setattr(cloud, "_items", lambda ctx, *words: [pod] if "stackwright" in words else [])
    monkeypatch.setattr(evidence, "metrics_ports", lambda pod: [9090])
    monkeypatch.setattr(evidence, "pod_doubt", lambda pod, alive: asked.append(alive) or "it is not there")
    monkeypatch.setattr(cgroups, "names", lambda cgroup: set())
    place = {"metadata": {"namespace": "openstack"}, "kind": "OpenStackDeployment"}
    assert cloud._doubt(ctx, [place]) == "it is not there"
    assert [set(alive) for alive in asked] == [set() if theirs else set(NODES)]
