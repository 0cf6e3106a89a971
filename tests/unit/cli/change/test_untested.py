"""`plan`, `apply` and `up -f` name the same values that no test uses in a real cloud, and secrets as plain text."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest
import yaml
from typer.testing import CliRunner

from stackwright.api.kinds import NAMESPACE, NODE
from stackwright.cli.app import app
from stackwright.cli.machine.up import _applicable
from stackwright.runtime.memory import MemoryCluster
from support.commands import connect
from support.paths import ROOT

UNTESTED = "features.nova.console.novnc.enabled: false"


def cloud() -> list[Any]:
    *others, deployment = yaml.safe_load_all((ROOT / "examples/cloud.yaml").read_text())
    deployment["spec"]["features"]["nova"]["console"] = {"novnc": {"enabled": False}}
    return [*others, deployment]


def control_plane() -> list[Any]:
    objects = list(yaml.safe_load_all((ROOT / "examples/control-plane.yaml").read_text()))
    [plane] = [each for each in objects if each["kind"] == "OpenStackControlPlane"]
    plane["spec"]["nova"]["template"]["cellTemplates"] = {"cell1": {"noVNCProxyServiceTemplate": {"enabled": False}}}
    return objects


def service() -> list[Any]:
    spec = {"release": "epoxy", "size": "single", "settings": {"console": {"novnc": {"enabled": False}}}}
    meta = {"name": "nova", "namespace": "openstack"}
    return [{"apiVersion": "stackwright.dev/v1alpha1", "kind": "Nova", "metadata": meta, "spec": spec}]


@pytest.fixture(autouse=True)
def cluster(monkeypatch: pytest.MonkeyPatch) -> MemoryCluster:
    memory = MemoryCluster()
    memory.put(NAMESPACE, {"metadata": {"name": "openstack"}})
    memory.put(NODE, {"metadata": {"name": "node1", "labels": {"openstack-control-plane": "enabled"}}})
    connect(monkeypatch, memory)
    return memory


@pytest.mark.parametrize("of", [cloud, control_plane, service], ids=lambda each: each.__name__)
def test_plan_apply_and_up_name_the_same_values(of: Any, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    path = tmp_path / "cloud.yaml"
    path.write_text(yaml.safe_dump_all(of()))
    planned = CliRunner().invoke(app, ["plan", "-f", str(path)]).stdout.splitlines()
    told = [line.removeprefix("  ! untested: ") for line in planned if "untested" in line]
    assert any(line.startswith(f"{UNTESTED}  (only rendered in tests") for line in told)
    expected = [f"Warning: untested: {line}" for line in told]
    capsys.readouterr()
    _applicable(Path("kubeconfig"), path, ask=False)
    assert capsys.readouterr().err.splitlines() == expected
    applied = CliRunner().invoke(app, ["apply", "-f", str(path), "--yes"])
    assert applied.exit_code == 0, applied.stderr
    assert [line for line in applied.stderr.splitlines() if "untested" in line] == expected


def test_plan_apply_and_up_name_secrets_as_plain_text(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    objects = cloud()
    values = {"conf": {"keystone": {"ldap": {"password": "hunter2-hunter2"}}}}
    objects[-1]["spec"].setdefault("services", {})["identity"] = {"keystone": {"values": values}}
    path = tmp_path / "cloud.yaml"
    path.write_text(yaml.safe_dump_all(objects))
    field = "spec.services.identity.keystone.values.conf.keystone.ldap.password"
    planned = CliRunner().invoke(app, ["plan", "-f", str(path)]).stdout
    assert f"  ! plain-text secret: {field}  (" in planned
    capsys.readouterr()
    _applicable(Path("kubeconfig"), path, ask=False)
    told = capsys.readouterr().err
    applied = CliRunner().invoke(app, ["apply", "-f", str(path), "--yes"])
    assert applied.exit_code == 0, applied.stderr
    for text in (told, applied.stderr):
        [line] = [line for line in text.splitlines() if "plain-text" in line]
        assert line.startswith(f"Warning: plain-text secret: {field}  (")
        assert "value_from.secret_key_ref" in line
    assert "hunter2" not in planned + told + applied.output


def test_tested_values_cause_no_warning(capsys: pytest.CaptureFixture[str]) -> None:
    _applicable(Path("kubeconfig"), ROOT / "examples/cloud.yaml", ask=False)
    assert capsys.readouterr().err == ""
