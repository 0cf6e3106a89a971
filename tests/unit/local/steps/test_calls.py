"""Calls of Helm and kubectl by steps of `up`, against stand-ins that parse arguments like these programs."""

from __future__ import annotations

import argparse
import json
import re
from collections.abc import Sequence
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest

from stackwright.local import commands, tools
from stackwright.local.commands import LocalError, quiet
from stackwright.local.config import LocalCluster
from stackwright.local.steps.context import Context
from stackwright.local.steps.openstack import charts, cloud, operator, volumes

HELM_LISTS = ("deployed", "failed")
HELM_KEEPS = 10  # revisions, unless an option overrides it


def image(name: str) -> Any:
    return SimpleNamespace(reference=f"stackwright.local/{name}")


class Programs:
    """helm and kubectl of one cluster, known by its kubeconfig. Words that they would not know are refused."""

    def __init__(self, kubeconfig: Path, *namespaces: str) -> None:
        self.kubeconfig, self.namespaces = str(kubeconfig), {"kube-system", *namespaces}
        self.releases: dict[tuple[str, str], list[dict[str, Any]]] = {}
        self.kubectl: list[tuple[str, ...]] = []
        self.items: dict[str, list[dict[str, Any]]] = {}
        self.course: list[str] = []
        self.stdin: list[str] = []
        self.owners: dict[str, tuple[str, str, str, str]] = {}
        self.version = "v1.35.0"

    def __call__(
        self, argv: Sequence[str | Path], *, stdin: str | None = None, limit: float = 60, env: Any = None
    ) -> str:
        program, *words = map(str, argv)
        if Path(program).name == "helm":
            assert env["KUBECONFIG"] == self.kubeconfig, "helm would go to another cluster"
            return self.helm(words, stdin or "")
        assert words[:2] == ["--kubeconfig", self.kubeconfig], "kubectl would go to another cluster"
        self.stdin += [] if stdin is None else [stdin]
        return self.asked(words[2:])

    def helm(self, words: list[str], stdin: str) -> str:
        parser = argparse.ArgumentParser(exit_on_error=False)
        verbs = parser.add_subparsers(dest="verb")
        for verb in ("list", "status", "upgrade"):
            made = verbs.add_parser(verb)
            made.add_argument("--namespace", default="default")
            if verb != "upgrade":
                made.add_argument("--output", choices=["json"], required=True)
            if verb != "list":
                made.add_argument("release")
        of_list, of_upgrade = verbs.choices["list"], verbs.choices["upgrade"]
        of_list.add_argument("--all", action="store_true")
        of_list.add_argument("--filter", default="")
        of_upgrade.add_argument("chart")
        for flag in ("--install", "--create-namespace", "--wait"):
            of_upgrade.add_argument(flag, action="store_true")
        of_upgrade.add_argument("--timeout", default="5m0s")
        of_upgrade.add_argument("--description", default="Upgrade complete")
        of_upgrade.add_argument("--history-max", type=int, default=HELM_KEEPS)
        of_upgrade.add_argument("--values", choices=["-"])
        asked = parser.parse_args(words)
        if asked.verb == "list":
            found = [
                {"name": name, "status": revisions[-1]["status"], "revision": str(len(revisions))}
                for (place, name), revisions in self.releases.items()
                if place == asked.namespace and re.search(asked.filter, name)
            ]
            return json.dumps([each for each in found if asked.all or each["status"] in HELM_LISTS])
        if asked.verb == "status":
            return json.dumps({"info": self.releases[asked.namespace, asked.release][-1]})
        if asked.namespace not in self.namespaces and not asked.create_namespace:
            raise LocalError(f"namespace {asked.namespace} not found")
        revisions = self.releases.setdefault((asked.namespace, asked.release), [])
        if not revisions and not asked.install:
            raise LocalError(f"{asked.release} has no deployed releases")
        assert Path(asked.chart).is_dir()
        values = json.loads(stdin) if asked.values else {}
        self.course.append(f"helm {asked.release}")
        revisions.append(
            {"status": "deployed", "description": asked.description, "values": values, "waited": asked.wait}
        )
        del revisions[: -asked.history_max]
        return ""

    def asked(self, words: list[str]) -> str:
        self.kubectl.append(tuple(words))
        self.course.append(f"kubectl {words[0]}")
        if words[0] != "get":
            return ""
        if words[1] == "--raw":
            return json.dumps({"gitVersion": self.version})
        if words[1] == operator.CRDS:
            return "".join("\t".join((name, *owner)) + "\n" for name, owner in self.owners.items() if name in words)
        here = words[words.index("--namespace") + 1] if "--namespace" in words else "default"
        found = self.items.get(words[1], [])
        if "--all-namespaces" not in words:
            found = [each for each in found if each["metadata"]["namespace"] == here]
        return json.dumps({"items": found})


@pytest.fixture
def ctx(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Context:
    """A foreign cluster; KUBECONFIG in the environment is that of a third one."""
    monkeypatch.setenv("KUBECONFIG", str(tmp_path / "third"))
    monkeypatch.setattr(tools, "binary", lambda name, cluster: Path("/tools") / name)
    made = Context(LocalCluster(tmp_path / "state", tmp_path / "cache", tmp_path / "run"))
    made.kubeconfig = tmp_path / "theirs"
    made.images = [image("operator:1")]
    return made


@pytest.fixture
def programs(ctx: Context, monkeypatch: pytest.MonkeyPatch) -> Programs:
    made = Programs(ctx.kubeconfig_in_use)
    monkeypatch.setattr(charts, "execute", made)
    return made


@pytest.fixture
def chart(tmp_path: Path) -> Path:
    path = tmp_path / "chart"
    path.mkdir()
    (path / "Chart.yaml").write_text("name: r")
    return path


def test_a_release_is_deployed_until_its_chart_or_its_values_change(
    ctx: Context, programs: Programs, chart: Path
) -> None:
    wanted = charts.digest(chart, {"a": 1})
    assert not charts.is_deployed(ctx, "r", "new", wanted)
    charts.install(ctx, "r", "new", chart, {"a": 1})
    (made,) = programs.releases["new", "r"]
    assert (made["values"], made["waited"]) == ({"a": 1}, True)
    assert charts.is_deployed(ctx, "r", "new", wanted)
    assert not charts.is_deployed(ctx, "r", "elsewhere", wanted)
    assert not charts.is_deployed(ctx, "r", "new", charts.digest(chart, {"a": 2}))
    (chart / "Chart.yaml").write_text("name: another")
    assert not charts.is_deployed(ctx, "r", "new", charts.digest(chart, {"a": 1}))


@pytest.mark.parametrize("name", ["r-more", "more-r"])
def test_a_release_with_a_longer_name_does_not_match(ctx: Context, programs: Programs, chart: Path, name: str) -> None:
    charts.install(ctx, name, "ns", chart, {})
    assert not charts.is_deployed(ctx, "r", "ns", charts.digest(chart, {}))
    programs.releases["ns", name][-1]["status"] = "pending-upgrade"
    charts.install(ctx, "r", "ns", chart, {})
    assert programs.kubectl == [], "the record of the other one stays"


def test_old_revisions_do_not_pile_up(ctx: Context, programs: Programs, chart: Path) -> None:
    for number in range(HELM_KEEPS + 1):
        charts.install(ctx, "r", "ns", chart, {"a": number})
    assert 1 < len(programs.releases["ns", "r"]) < HELM_KEEPS


def test_a_failed_program_is_reported_with_its_output(ctx: Context, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(charts, "execute", commands.run)
    monkeypatch.setattr(tools, "binary", lambda name, cluster: Path("/bin/false"))
    for program in (charts.helm, charts.kubectl):
        with pytest.raises(LocalError, match=r"false .*get pods` failed with exit code 1"):
            program(ctx, "get", "pods")


def test_the_operator_is_installed_with_its_kinds_and_awaited(ctx: Context, programs: Programs) -> None:
    operator.run(ctx, quiet)
    assert programs.course == ["kubectl get", "kubectl get", "helm stackwright", "kubectl create"]
    (made,) = programs.releases["stackwright", "stackwright"]
    assert made["waited"]
    assert made["values"]["images"]["tags"] == {"stackwright": "stackwright.local/operator:1"}
    assert operator.done(ctx)
    ctx.images = [image("operator:2")]
    assert not operator.done(ctx), "a newer operator was built"


def test_only_nodes_of_the_local_cluster_leave_images_unmounted(ctx: Context) -> None:
    """containerd alone can mount the imported images by their ids; with a kubelet this was not tried yet."""
    assert "mount_volumes" not in operator.values(ctx)["images"]
    ctx.kubeconfig = None
    assert operator.values(ctx)["images"]["mount_volumes"] is False


def test_kinds_without_an_owner_are_given_to_the_release_before_it_is_upgraded(
    ctx: Context, programs: Programs
) -> None:
    """Earlier versions installed them with kubectl, or Helm did, from the folder crds/ of the chart."""
    programs.owners = {
        "cephs.stackwright.dev": ("", "", "", ""),
        "cinders.stackwright.dev": ("", "", "stackwright", "stackwright"),  # a killed `up`
        "etcds.stackwright.dev": ("", "Helm", "stackwright", "stackwright"),
        "glances.stackwright.dev": ("", "Helm", "other", "stackwright"),
        "horizons.stackwright.dev": ("", "Helm", "stackwright", "other"),
        "keystones.stackwright.dev": ("", "argocd", "", ""),
        "openstackclusters.infrastructure.cluster.x-k8s.io": ("infrastructure-openstack", "", "", ""),
        "others.example.org": ("", "", "", ""),
    }
    operator.run(ctx, quiet)
    free = ("cephs.stackwright.dev", "cinders.stackwright.dev")
    place = ("meta.helm.sh/release-name=stackwright", "meta.helm.sh/release-namespace=stackwright")
    assert programs.kubectl[2:4] == [
        ("annotate", operator.CRDS, *free, "--overwrite", *place),
        ("label", operator.CRDS, *free, "--overwrite", "app.kubernetes.io/managed-by=Helm"),
    ]
    assert programs.course[3:] == ["kubectl label", "helm stackwright", "kubectl create"]


@pytest.mark.parametrize(
    ("version", "fits"), [("v1.31.9", False), ("v1.32.0-eks-1", True), ("v1.36.1", True), ("v2.0.0", True)]
)
def test_nothing_is_installed_in_a_cluster_of_an_older_version(
    ctx: Context, programs: Programs, version: str, fits: bool
) -> None:
    programs.version = version
    if fits:
        operator.run(ctx, quiet)
    else:
        with pytest.raises(LocalError, match=r"^The cluster runs Kubernetes v1\.31\.9; 1\.32 or later is required$"):
            operator.run(ctx, quiet)
    assert ("helm stackwright" in programs.course) == fits


def test_the_provisioner_creates_the_default_class_and_is_not_awaited(ctx: Context, programs: Programs) -> None:
    assert not volumes.done(ctx)
    volumes.run(ctx, quiet)
    assert volumes.done(ctx)
    (made,) = programs.releases["kube-system", "local-volume-provisioner"]
    assert not made["waited"]
    assert made["values"]["storage_class"] == {"default": True}
    assert made["values"]["volumes"] == {"path": str(ctx.cluster.state / "volumes")}


def test_clouds_of_all_namespaces_are_seen(ctx: Context, programs: Programs) -> None:
    programs.items[cloud.KINDS] = [{"metadata": {"namespace": name}} for name in ("openstack", "another")]
    assert [each["metadata"]["namespace"] for each in cloud.clouds(ctx)] == ["openstack", "another"]


def test_a_cloud_is_applied_over_the_fields_of_others(ctx: Context, programs: Programs) -> None:
    """A user who calls `up` with a file wants its complete content."""
    read: list[Path] = []

    def applicable(manifest: Path) -> str:
        read.append(manifest)
        return f"all of {manifest.name}"

    ctx.manifest, ctx.applicable = Path("mine.yaml"), applicable
    cloud._apply(ctx, quiet)
    ctx.manifest = None
    cloud._apply(ctx, quiet)
    assert programs.kubectl == [("apply", "--server-side", "--force-conflicts", "--filename", "-")] * 2
    assert programs.stdin == ["all of mine.yaml", "all of cloud.yaml"], "what was asked about, and no file again"
    assert str(read[1]).endswith("examples/cloud.yaml")


def test_losses_of_a_manifest_can_be_declined_before_it_is_applied(ctx: Context, programs: Programs) -> None:
    def refuse(manifest: Path) -> str:
        raise LocalError(f"{manifest} would delete the cloud")

    ctx.manifest, ctx.applicable = Path("cloud.yaml"), refuse
    with pytest.raises(LocalError, match="would delete"):
        cloud._apply(ctx, quiet)
    assert programs.kubectl == []
