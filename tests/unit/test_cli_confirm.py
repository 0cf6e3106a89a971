"""What is lost is shown first, and without a terminal it needs --yes."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest
from typer.testing import CliRunner

from stackwright.cli import cluster as cli_cluster
from stackwright.cli.app import app
from stackwright.cli.cluster import CliError
from stackwright.cli.confirm import confirm, losses
from stackwright.cli.planned import CHANGE, DELETE, Entry

LOST = [Entry(DELETE, "helm", "release openstack/nova"), Entry(DELETE, "delete", "Nova openstack/nova")]
REPLACED = [
    Entry(DELETE, "delete", "Job openstack/db-sync"),
    Entry(DELETE, "delete", "HelmBundle openstack/openstack-nova"),
    Entry(DELETE, "delete", "MessagingAccount openstack/nova"),
    Entry(CHANGE, "helm", "release openstack/glance"),
]


def called(*words: str, stdin: str = "") -> Any:
    return CliRunner().invoke(app, words, input=stdin)


def test_losses_are_releases_services_and_databases() -> None:
    assert losses([*LOST, *REPLACED]) == ["release openstack/nova", "Nova openstack/nova"]
    assert losses([Entry(DELETE, "delete", "DatabaseAccount openstack/nova")])


def test_without_a_terminal_a_loss_is_refused() -> None:
    with pytest.raises(CliError, match=r"Nothing was applied\. .* --yes"):
        confirm(["release a"], "Nothing was applied.")
    confirm([], "")


def test_purge_without_a_terminal_needs_yes(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    monkeypatch.setenv("STACKWRIGHT_HOME", str(tmp_path))
    (tmp_path / "kubeconfig").touch()
    result = called("down", "--purge")
    assert result.exit_code == 1
    assert "--yes" in result.stderr
    assert (tmp_path / "kubeconfig").exists()
    assert cli_cluster.is_local(tmp_path / "kubeconfig")
