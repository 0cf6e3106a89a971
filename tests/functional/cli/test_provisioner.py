"""`stackwright provisioner`: the arguments that it rejects before it starts."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import pytest
from typer.testing import CliRunner

from stackwright.cli.app import app


@pytest.mark.parametrize("path", ["", "/", "//", "volumes", "./volumes"])
def test_a_path_that_is_no_directory_below_the_root_is_refused(path: str) -> None:
    result = CliRunner().invoke(app, ["provisioner", "--node", "n", "--path", path])
    assert result.exit_code == 2
    assert ("is not an absolute path of a directory below /" if path else "must not be empty") in result.output


def test_the_node_must_be_given(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delenv("NODE_NAME", raising=False)
    result = CliRunner().invoke(app, ["provisioner"])
    assert result.exit_code == 2
    assert "--node" in result.output


def test_an_unresponsive_api_server_is_reported_in_a_sentence(tmp_path: Path) -> None:
    config = tmp_path / "kubeconfig"
    config.write_text(
        "{apiVersion: v1, kind: Config, current-context: x, users: [{name: x, user: {}}],"
        " clusters: [{name: x, cluster: {server: 'http://127.0.0.1:1'}}],"
        " contexts: [{name: x, context: {cluster: x, user: x}}]}"
    )
    result = CliRunner().invoke(app, ["provisioner", "--node", "n", "--kubeconfig", str(config)])
    assert result.exit_code == 1
    assert "cannot be reached" in result.output


def test_it_imports_nothing_that_only_the_operator_needs() -> None:
    """It runs on every node, so its memory matters."""
    heavy = {"openstack", "keystoneauth1", "pymysql", "cryptography"}
    code = f"import stackwright.main, sys; print(*{heavy} & set(sys.modules))"
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert done.stdout.strip() == ""
