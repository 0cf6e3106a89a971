"""Commands on a namespace that the installed operator does not manage, into which it may write no status."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest
import yaml
from typer.testing import CliRunner

from stackwright.api.kinds import DEPLOYMENT, NAMESPACE
from stackwright.cli.app import app
from stackwright.cloud.deployment import OpenStackDeployment
from stackwright.core.errors import TerminalError
from stackwright.local import tools
from support.commands import connect
from support.paths import ROOT
from tests.unit.examine.examined import ExaminedCluster, fit

MANIFEST = """\
apiVersion: lcm.mirantis.com/v1alpha1
kind: OpenStackDeployment
metadata: {name: cloud, namespace: %s}
spec: {openstack_version: epoxy, preset: core, size: single}
"""
SAYS = "The operator does not manage the namespace elsewhere, only openstack, 123."
REMEDY = "Add it to the value `namespaces` of the operator's chart"
RENDERED = ROOT / "tests/golden/charts/stackwright/namespaces/rendered.yaml"


def called(*words: str, namespace: str = "elsewhere") -> Any:
    return CliRunner().invoke(app, words, input=MANIFEST % namespace)


@pytest.fixture
def cluster(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> ExaminedCluster:
    """A cluster with the operator of the chart, as rendered with the value `namespaces`."""
    found = fit()
    [operator] = [each for each in yaml.safe_load_all(RENDERED.read_text()) if each["kind"] == DEPLOYMENT.kind]
    found.put(DEPLOYMENT, {**operator, "metadata": {**operator["metadata"], "namespace": "stackwright"}})
    for name in ("openstack", "elsewhere"):
        found.put(NAMESPACE, {"metadata": {"name": name}})
    connect(monkeypatch, found)
    monkeypatch.setattr(tools, "binary", lambda name: Path("/none"))
    (tmp_path / "kubeconfig").touch()
    monkeypatch.setenv("KUBECONFIG", str(tmp_path / "kubeconfig"))
    monkeypatch.setenv("STACKWRIGHT_HOME", str(tmp_path / "local"))
    monkeypatch.setenv("PATH", "")
    return found


def test_apply_warns_and_does_not_wait(cluster: ExaminedCluster) -> None:
    result = called("apply", "-f", "-")
    assert (result.exit_code, result.stdout) == (0, "OpenStackDeployment elsewhere/cloud: created\n")
    assert result.stderr.startswith(f"Warning: {SAYS} {REMEDY}")
    waited = called("apply", "-f", "-", "--wait")
    assert waited.exit_code == 1
    assert f"OpenStackDeployment elsewhere/cloud will not become ready: {SAYS} {REMEDY}" in waited.stderr


def test_wait_ends_at_once_unless_it_is_to_keep_waiting(cluster: ExaminedCluster) -> None:
    called("apply", "-f", "-")
    assert SAYS in called("wait", "-n", "elsewhere").stderr
    kept = called("wait", "-n", "elsewhere", "--keep-waiting", "--timeout", "0").stderr
    assert "was not ready after 0 s" in kept and SAYS in kept


def test_status_says_it(cluster: ExaminedCluster) -> None:
    called("apply", "-f", "-")
    assert f"{SAYS} {REMEDY}" in called("status", "-n", "elsewhere").stdout


@pytest.mark.parametrize("applied", [True, False], ids=["applied", "manifest"])
def test_doctor_has_a_finding_for_objects_and_manifests(cluster: ExaminedCluster, applied: bool) -> None:
    if applied:
        called("apply", "-f", "-")
    result = called("doctor", *(["--kubeconfig=kubeconfig"] if applied else ["-f", "-"]))
    assert f" ✗ namespace elsewhere: {SAYS}\n      → {REMEDY}" in result.stdout
    assert result.exit_code == 1


def test_nothing_is_said_of_a_managed_namespace(cluster: ExaminedCluster) -> None:
    assert called("apply", "-f", "-", namespace="openstack").stderr == ""
    for words in (("status",), ("doctor", "-f", "-"), ("wait", "--timeout", "0")):
        result = called(*words, namespace="openstack")
        assert "does not manage" not in result.output + result.stderr, words


def test_nothing_is_said_by_an_operator_of_all_namespaces(cluster: ExaminedCluster) -> None:
    operator = cluster.peek(DEPLOYMENT, ("stackwright", "stackwright")) or {}
    for each in operator["spec"]["template"]["spec"]["containers"]:
        each["args"] = [word for word in each["args"] if "--namespaces" not in word]
    cluster.put(DEPLOYMENT, operator)
    assert called("apply", "-f", "-").stderr == ""


def test_users_who_may_not_read_the_operator_can_apply_and_wait(
    cluster: ExaminedCluster, monkeypatch: pytest.MonkeyPatch
) -> None:
    listing = cluster.list

    async def refused(kind: Any, *words: Any) -> Any:
        if kind == DEPLOYMENT:
            raise TerminalError("forbidden")
        return await listing(kind, *words)

    monkeypatch.setattr(cluster, "list", refused)
    result = called("apply", "-f", "-")
    assert (result.exit_code, result.stderr) == (0, "")
    assert cluster.peek(OpenStackDeployment.KIND, ("elsewhere", "cloud"))
