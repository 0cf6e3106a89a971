"""`up -f` applies exactly the objects that the user confirmed, where the other commands look for them."""

from __future__ import annotations

import json
from contextlib import nullcontext
from pathlib import Path
from typing import Any

import pytest
import yaml
from typer.testing import CliRunner

from stackwright.api.kinds import DEPLOYMENT, NAMESPACE
from stackwright.cli import confirm
from stackwright.cli.app import app
from stackwright.cli.cluster import connection as cli_connection
from stackwright.cli.machine.up import _applicable
from stackwright.cli.manifests.load import Manifest
from stackwright.cloud.deployment import OpenStackDeployment
from stackwright.cloud.registry import BY_KIND
from stackwright.core.errors import NotServed, TerminalError, Unavailable
from stackwright.core.objects import key_of
from stackwright.local.cluster import bringup
from stackwright.local.commands import LocalError
from stackwright.local.config import LocalCluster
from stackwright.local.image import images
from stackwright.runtime.memory import MemoryCluster
from support.commands import connect
from support.paths import ROOT

CLOUD = {
    "apiVersion": "lcm.mirantis.com/v1alpha1",
    "kind": "OpenStackDeployment",
    "metadata": {"name": "cloud"},
    "spec": {"openstack_version": "epoxy", "preset": "core", "size": "single"},
}


@pytest.fixture
def cluster(monkeypatch: pytest.MonkeyPatch) -> MemoryCluster:
    memory = MemoryCluster()
    memory.put(NAMESPACE, {"metadata": {"name": "openstack"}})
    connect(monkeypatch, memory)
    return memory


@pytest.fixture
def asked(monkeypatch: pytest.MonkeyPatch) -> list[Manifest]:
    """The objects of the prompt."""
    found: list[Manifest] = []

    async def foreseen(cluster: Any, manifests: list[Manifest]) -> list[str]:
        found.extend(manifests)
        return [each.name for each in manifests if await cluster.get(each.kind, key_of(each.obj))]

    monkeypatch.setattr(confirm, "foreseen_losses", foreseen)
    return found


def file(folder: Path, *documents: Any) -> Path:
    path = folder / "cloud.yaml"
    path.write_text(yaml.safe_dump_all(documents))
    return path


def applied(path: Path, *, ask: bool = True) -> list[dict[str, Any]]:
    found = json.loads(_applicable(Path("kubeconfig"), path, ask=ask))
    assert (found["apiVersion"], found["kind"]) == ("v1", "List")
    return list(found["items"])


@pytest.mark.parametrize("named", [True, False])
@pytest.mark.parametrize("ask", [True, False])
def test_prompt_and_change_have_the_same_namespace(
    cluster: MemoryCluster, asked: list[Manifest], tmp_path: Path, named: bool, ask: bool
) -> None:
    meta = {"name": "cloud", **({"namespace": "openstack"} if named else {})}
    [found] = applied(file(tmp_path, {**CLOUD, "metadata": meta}), ask=ask)
    assert found == {**CLOUD, "metadata": {"name": "cloud", "namespace": "openstack"}}
    assert [each.obj for each in asked] == [found] * ask


def test_a_second_apply_of_a_file_confirms_its_losses(
    cluster: MemoryCluster, asked: list[Manifest], tmp_path: Path
) -> None:
    path = file(tmp_path, CLOUD)
    for each in applied(path):
        cluster.put(OpenStackDeployment.KIND, each)
    with pytest.raises(LocalError, match=r"The cloud was not changed\. .* --yes"):
        applied(path)


@pytest.mark.usefixtures("asked")
def test_namespaces_are_created_as_by_apply(cluster: MemoryCluster, tmp_path: Path) -> None:
    named = {**CLOUD, "metadata": {"name": "cloud", "namespace": "another"}}
    assert [each["metadata"]["name"] for each in applied(file(tmp_path, named))] == ["another", "cloud"]
    cluster.remove(NAMESPACE, ("", "openstack"))
    with pytest.raises(LocalError, match="Namespace openstack does not exist; set"):
        applied(file(tmp_path, CLOUD))
    space = {"apiVersion": "v1", "kind": "Namespace", "metadata": {"name": "openstack"}}
    assert [each["kind"] for each in applied(file(tmp_path, CLOUD, space))] == ["Namespace", "OpenStackDeployment"]


def test_errors_in_a_file_are_reported_before_anything_starts(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(bringup, "up", lambda *words: pytest.fail("it begins"))
    monkeypatch.setenv("STACKWRIGHT_HOME", str(tmp_path / "state"))
    monkeypatch.setattr("stackwright.local.lock.exclusive", lambda cluster: nullcontext())
    path = file(tmp_path, {**CLOUD, "spec": {"size": "huge"}})
    result = CliRunner().invoke(app, ["up", "--yes", "--file", str(path)])
    assert result.exit_code == 1
    assert "spec.size" in result.stderr


def operator(image: str) -> dict[str, Any]:
    labels = {"application": "stackwright"}
    template = {"spec": {"containers": [{"name": "operator", "image": image}]}}
    meta = {"namespace": "stackwright", "name": "stackwright-operator", "labels": labels}
    return {"metadata": meta, "spec": {"template": template}}


class Begins(Exception):
    """The first step is reached."""


@pytest.mark.parametrize(
    ("installed", "error", "told"),
    [
        ("ours", TerminalError("admission webhook denied the request: spec.x: no"), "denied the request: spec.x: no"),
        ("ours", NotServed("no such kind"), "no such kind"),
        ("ours", Unavailable("failed calling webhook"), ""),  # the steps repair it
        ("older", TerminalError("spec.new: unknown field"), ""),  # this `up` replaces its kinds
        ("none", TerminalError("not asked"), ""),
        ("ours", None, ""),
    ],
)
def test_a_running_cluster_of_this_version_checks_a_file_before_anything_starts(
    cluster: MemoryCluster,
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    installed: str,
    error: Exception | None,
    told: str,
) -> None:
    def begins(*_: Any) -> None:
        raise Begins

    async def refuse(*_: Any) -> None:
        if error:
            raise error

    monkeypatch.setattr(bringup, "up", begins)
    monkeypatch.setattr(cluster, "dry_run", refuse)
    monkeypatch.setattr(cli_connection, "is_stopped", lambda: False)
    monkeypatch.setenv("STACKWRIGHT_HOME", str(tmp_path / "state"))
    monkeypatch.setattr("stackwright.local.lock.exclusive", lambda cluster: nullcontext())
    LocalCluster.discover().kubeconfig.parent.mkdir(parents=True)
    LocalCluster.discover().kubeconfig.touch()
    if installed != "none":
        ours = images.references()["operator"]
        cluster.put(DEPLOYMENT, operator(ours if installed == "ours" else f"{ours}0"))
    result = CliRunner().invoke(app, ["up", "--yes", "--file", str(file(tmp_path, CLOUD))])
    if told:
        assert result.exit_code == 1
        assert told in result.stderr
        assert result.stderr.endswith("Nothing was changed.\n")
    else:
        assert isinstance(result.exception, Begins), result.output


def test_nothing_is_applied_if_the_cluster_rejects_one_of_several_objects(
    cluster: MemoryCluster, asked: list[Manifest], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """On a first start, and after an upgrade, no earlier check asked the cluster."""

    async def refuse(kind: Any, obj: Any, manager: str) -> None:
        if obj["metadata"]["name"] == "second":
            raise TerminalError("admission webhook denied the request: spec.x: no")

    monkeypatch.setattr(cluster, "dry_run", refuse)
    second = {**CLOUD, "metadata": {"name": "second"}}
    with pytest.raises(LocalError, match=r"document 2: .* spec\.x: no"):
        applied(file(tmp_path, CLOUD, second))
    assert asked == []


def test_a_change_of_an_immutable_field_is_rejected_before_the_prompt(
    cluster: MemoryCluster, asked: list[Manifest], tmp_path: Path
) -> None:
    server = yaml.safe_load((ROOT / "examples/server.yaml").read_text())
    cluster.put(NAMESPACE, {"metadata": {"name": "demo"}})
    cluster.put(BY_KIND["OpenStackServer"].KIND, server)
    changed = {**server, "spec": {**server["spec"], "sshKeyName": "another"}}
    with pytest.raises(LocalError, match=r"spec\.sshKeyName"):
        applied(file(tmp_path, changed))
    assert asked == []
