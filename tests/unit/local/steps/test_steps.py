"""Steps of `up`: when they are done, and which commands they run, with small fakes of the programs."""

from __future__ import annotations

import json
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest

from stackwright.local import waiting
from stackwright.local.commands import LocalError, quiet
from stackwright.local.config import LocalCluster, Node
from stackwright.local.host import cgroups, services
from stackwright.local.host.services import Service
from stackwright.local.image import store
from stackwright.local.kubernetes import api
from stackwright.local.node import removal
from stackwright.local.steps.context import Context
from stackwright.local.steps.kubernetes import certificates, nodes, runtimes
from stackwright.local.steps.openstack import charts, cloud, operator, token
from support.clock import Clock

CONDITION = {"type": "Ready", "status": "True", "reason": "Ready", "message": "", "observedGeneration": 1}


class Supervisor:
    """Services as they were started last, in place of s6."""

    def __init__(self) -> None:
        self.running: dict[str, Service] = {}

    def ensure(self, cluster: LocalCluster, *wanted: Service) -> None:
        self.running |= {service.name: service for service in wanted}

    def is_current(self, cluster: LocalCluster, service: Service) -> bool:
        return self.running.get(service.name) == service


class Store:
    """Images of each node's containerd, by its socket."""

    def __init__(self) -> None:
        self.loaded: dict[Path, set[str]] = {}

    def references(self, cluster: LocalCluster, socket: Path) -> list[str]:
        return sorted(self.loaded.get(socket, set()))

    def load(self, images: list[Any], nodes: list[Node], cluster: LocalCluster) -> None:
        for node in nodes:
            self.loaded.setdefault(node.containerd_socket, set()).update(image.reference for image in images)


class Api:
    """Every node is ready; deletions are kept."""

    def __init__(self) -> None:
        self.deleted: list[str] = []

    def get(self, path: str) -> dict[str, Any]:
        return {}

    def apply(self, path: str, manifest: Any) -> None:
        pass

    def delete(self, path: str) -> None:
        self.deleted.append(path)


@pytest.fixture
def ctx(tmp_path: Path) -> Context:
    return Context(LocalCluster(tmp_path / "state", tmp_path / "cache", tmp_path / "run"))


@pytest.fixture
def supervisor(monkeypatch: pytest.MonkeyPatch) -> Supervisor:
    fake = Supervisor()
    monkeypatch.setattr(services, "ensure", fake.ensure)
    monkeypatch.setattr(services, "is_current", fake.is_current)
    return fake


def image(name: str) -> Any:
    return SimpleNamespace(reference=f"stackwright.local/{name}:1")


@pytest.fixture
def running(ctx: Context, supervisor: Supervisor, monkeypatch: pytest.MonkeyPatch) -> Context:
    """A node whose containerd runs and has the image of the sandbox."""
    fake = Store()
    monkeypatch.setattr(store, "references", fake.references)
    monkeypatch.setattr(store, "load", fake.load)
    monkeypatch.setattr(cgroups, "ensure", lambda group: None)
    (node,) = ctx.nodes
    node.containerd_root.mkdir(parents=True)
    node.containerd_socket.parent.mkdir(parents=True)
    node.containerd_socket.touch()
    ctx.images = [image("pause")]
    assert not runtimes.done(ctx)
    runtimes.run(ctx, quiet)
    assert runtimes.done(ctx)
    return ctx


def test_an_image_that_a_running_node_lacks_is_loaded_into_it(running: Context) -> None:
    running.images.append(image("nova"))
    assert not runtimes.done(running)
    runtimes.run(running, quiet)
    assert runtimes.done(running)


def test_a_runtime_with_changed_configuration_is_outdated_until_its_restart(
    running: Context, supervisor: Supervisor
) -> None:
    (node,) = running.nodes
    running.images[0] = SimpleNamespace(reference="stackwright.local/pause:2")
    store.load(running.images, running.nodes, running.cluster)
    runtimes.write(runtimes.files(running, node))
    assert not runtimes.done(running), "the file is written, but containerd has read the one before"
    before = supervisor.running["node1-containerd"]
    runtimes.run(running, quiet)
    assert runtimes.done(running)
    assert supervisor.running["node1-containerd"].argv == before.argv, "only what it read has changed"


def test_a_surplus_node_is_removed_from_the_cluster_and_the_machine(
    ctx: Context, supervisor: Supervisor, monkeypatch: pytest.MonkeyPatch
) -> None:
    fake, removed = Api(), list[str]()
    monkeypatch.setattr(api, "of", lambda cluster: fake)
    monkeypatch.setattr(nodes, "unready", lambda ctx, node: None)
    monkeypatch.setattr(removal, "remove_node", lambda cluster, node: removed.append(node.name))
    nodes.run(ctx, quiet)
    assert nodes.done(ctx)
    assert fake.deleted == removed == []
    ctx.cluster.node(2).home.mkdir(parents=True)
    assert not nodes.done(ctx)
    nodes.run(ctx, quiet)
    assert (fake.deleted, removed) == (["/api/v1/nodes/node2"], ["node2"])
    ctx.node_count = 2
    assert ctx.surplus == []


def test_a_node_is_done_again_for_a_changed_configuration_or_a_missing_service(
    ctx: Context, supervisor: Supervisor, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(api, "of", lambda cluster: Api())
    monkeypatch.setattr(nodes, "unready", lambda ctx, node: None)
    (node,) = ctx.nodes
    nodes.run(ctx, quiet)
    assert nodes.done(ctx)
    for file in (node.kubelet_config, node.proxy_config):
        file.write_text("another")
        assert not nodes.done(ctx), file
        nodes.run(ctx, quiet)
        assert nodes.done(ctx)
    for name in list(supervisor.running):
        del supervisor.running[name]
        assert not nodes.done(ctx), name
        nodes.run(ctx, quiet)
        assert nodes.done(ctx)


def test_an_outdated_certificate_is_recreated(ctx: Context) -> None:
    certificates.run(ctx, quiet)
    assert certificates.done(ctx)
    stamps = {one: ctx.cluster.pki / f"{one.file}.inputs" for one in certificates.wanted(ctx)}
    for one, stamp in stamps.items():
        before = (ctx.cluster.pki / f"{one.file}.crt").read_bytes()
        stamp.write_text("another name")
        assert not certificates.done(ctx), one.file
        certificates.run(ctx, quiet)
        assert certificates.done(ctx)
        assert (ctx.cluster.pki / f"{one.file}.crt").read_bytes() != before
    for file in (ctx.cluster.kubeconfig, ctx.cluster.pki / "encryption.yaml", ctx.cluster.pki / "service-account.pub"):
        kept = file.read_bytes()
        file.unlink()
        assert not certificates.done(ctx), file.name
        file.write_bytes(kept)


class Helm:
    """`list` returns the same as Helm: pending or uninstalling releases only with --all."""

    def __init__(self, status: str, description: str = "") -> None:
        self.status, self.description = status, description

    def __call__(self, ctx: Context, *words: str) -> str:
        if words[0] == "status":
            return json.dumps({"info": {"description": self.description}})
        shown = "--all" in words or self.status in ("deployed", "failed")
        return json.dumps([{"name": "r", "status": self.status, "revision": "2"}] if shown else [])


@pytest.mark.parametrize(
    ("status", "description", "deployed"),
    [("deployed", "wanted", True), ("deployed", "other", False), ("failed", "wanted", False)],
)
def test_a_release_is_deployed_when_helm_succeeded_with_the_desired_values(
    ctx: Context, monkeypatch: pytest.MonkeyPatch, status: str, description: str, deployed: bool
) -> None:
    monkeypatch.setattr(charts, "helm", Helm(status, description))
    assert charts.is_deployed(ctx, "r", "ns", "wanted") is deployed


@pytest.mark.parametrize("status", ["pending-install", "uninstalling"])
def test_an_interrupted_release_is_found_though_helm_does_not_list_it_by_itself(
    ctx: Context, monkeypatch: pytest.MonkeyPatch, status: str
) -> None:
    deleted: list[str] = []
    monkeypatch.setattr(charts, "helm", Helm(status))
    monkeypatch.setattr(charts, "kubectl", lambda ctx, *words: deleted.append(words[2]))
    charts._forget_interrupted(ctx, "r", "ns")
    assert deleted == ["sh.helm.release.v1.r.v2"]


class Clouds:
    """The cloud's condition at each query; applied objects are stored."""

    def __init__(self, clock: Clock, *conditions: dict[str, str], identity: bool = True) -> None:
        self.clock, self.conditions, self.identity = clock, list(conditions) or [{}], identity
        self.applied: list[str] = []
        self.executed: list[tuple[str, ...]] = []

    def __call__(self, ctx: Context, *words: str, stdin: str = "", limit: float = 60) -> str:
        if words[0] == "apply":
            self.applied.append(stdin)
        if words[0] == "exec":
            self.executed.append(words)
            return "a token"
        now = self.conditions[min(int(self.clock.now), len(self.conditions) - 1)]
        found = [{**CONDITION, **now}, *([{**CONDITION, "type": "Keystone"}] if self.identity else [])]
        meta = {"generation": 1, "namespace": "openstack"}
        return json.dumps({"items": [{"kind": "Cloud", "metadata": meta, "status": {"conditions": found}}]})


@pytest.fixture
def clock(monkeypatch: pytest.MonkeyPatch) -> Clock:
    clock = Clock()
    monkeypatch.setattr(cloud, "time", clock)
    monkeypatch.setattr(cloud, "_doubt", lambda ctx, found: None)
    return clock


BLOCKED = {"status": "False", "reason": "BlockedSpec", "message": "no such chart"}
WAITING = {"status": "False", "reason": "Installing", "message": "Nova: installing"}


def test_a_manifest_is_applied_even_if_the_cloud_is_ready_with_the_former_one(
    ctx: Context, clock: Clock, monkeypatch: pytest.MonkeyPatch
) -> None:
    kubectl = Clouds(clock)
    monkeypatch.setattr(charts, "kubectl", kubectl)
    assert cloud.done(ctx), "without a manifest"
    ctx.manifest, ctx.applicable = Path("cloud.yaml"), str
    assert not cloud.done(ctx)
    cloud.run(ctx, quiet)
    assert kubectl.applied == ["cloud.yaml"]
    assert cloud.done(ctx)


def test_the_wait_for_a_blocked_cloud_ends_early(ctx: Context, clock: Clock, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(charts, "kubectl", Clouds(clock, BLOCKED))
    with pytest.raises(LocalError, match="blocked until you act: no such chart"):
        cloud.run(ctx, quiet)
    assert cloud.BLOCKED_LIMIT < clock.now < cloud.BLOCKED_LIMIT + 5


def test_only_uninterrupted_time_in_a_block_counts(ctx: Context, clock: Clock, monkeypatch: pytest.MonkeyPatch) -> None:
    piece = int(cloud.BLOCKED_LIMIT * 2 / 3)
    monkeypatch.setattr(charts, "kubectl", Clouds(clock, *[BLOCKED] * piece, WAITING, *[BLOCKED] * piece, {}))
    cloud.run(ctx, quiet)
    assert clock.now == 2 * piece + 1


def test_a_waiting_cloud_has_the_full_timeout(ctx: Context, clock: Clock, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(charts, "kubectl", Clouds(clock, WAITING))
    with pytest.raises(LocalError, match="not ready after 900 s: Nova: installing"):
        cloud.run(ctx, quiet)
    assert cloud.LIMIT < clock.now < cloud.LIMIT + 5


def test_a_token_is_requested_in_the_pod_of_the_client_and_kept(
    ctx: Context, clock: Clock, monkeypatch: pytest.MonkeyPatch
) -> None:
    kubectl = Clouds(clock)
    monkeypatch.setattr(charts, "kubectl", kubectl)
    token.run(ctx, quiet)
    assert ctx.token == "a token"
    place = ("exec", "--namespace", "openstack", "deployment/keystone-client", "--")
    assert kubectl.executed == [(*place, *token.COMMAND)]


def test_a_token_that_is_refused_fails_the_step(ctx: Context, clock: Clock, monkeypatch: pytest.MonkeyPatch) -> None:
    def refuse(ctx: Context, *words: str, limit: float = 60) -> str:
        if words[0] == "exec":
            raise LocalError("HTTP 401")
        return Clouds(clock)(ctx, *words)

    monkeypatch.setattr(charts, "kubectl", refuse)
    with pytest.raises(LocalError, match="openstack is ready, but a token request failed: HTTP 401"):
        token.run(ctx, quiet)


NOT_ASKED = 'Error from server (InternalError): failed calling webhook "validate": connection refused'


@pytest.mark.parametrize(
    ("said", "done"),
    [
        ("", True),
        ('admission webhook "validate" denied the request: spec: no', True),
        (NOT_ASKED, False),
        ("The connection to the server was refused", False),
        ("open kubeconfig: permission denied", False),
    ],
)
def test_an_operator_is_ready_when_it_has_checked_an_object(
    monkeypatch: pytest.MonkeyPatch, said: str, done: bool
) -> None:
    """After a restart of the machine its pod is listed as ready before it runs."""
    asked: list[tuple[str, ...]] = []

    def kubectl(ctx: Context, *words: str, stdin: str = "") -> str:
        asked.append(words)
        if said:
            raise LocalError(said)
        return ""

    monkeypatch.setattr(charts, "kubectl", kubectl)
    monkeypatch.setattr(operator, "deployed", lambda ctx: True)
    assert operator.done(Context(LocalCluster.discover())) is done
    assert asked == [("create", "--dry-run=server", "--filename", "-")]


def test_an_operator_that_is_deployed_is_waited_for_and_not_deployed_again(monkeypatch: pytest.MonkeyPatch) -> None:
    answers = [NOT_ASKED, ""]

    def kubectl(ctx: Context, *words: str, stdin: str = "") -> str:
        assert words[0] == "create"
        if said := answers.pop(0):
            raise LocalError(said)
        return ""

    monkeypatch.setattr(waiting.time, "sleep", lambda seconds: None)
    monkeypatch.setattr(charts, "kubectl", kubectl)
    monkeypatch.setattr(operator, "deployed", lambda ctx: True)
    operator.run(Context(LocalCluster.discover()), quiet)
    assert not answers
