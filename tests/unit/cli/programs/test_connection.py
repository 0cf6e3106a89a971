"""The programs of pods use the pod's service account or --kubeconfig, never a user's kubeconfig."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest
from typer.testing import CliRunner

from stackwright import main
from stackwright.cli.app import app

CONFIG = """\
apiVersion: v1
kind: Config
current-context: other
clusters: [{name: other, cluster: {server: "https://192.0.2.1:1"}}]
contexts: [{name: other, context: {cluster: other, user: other}}]
users: [{name: other, user: {token: t}}]
"""
OPERATOR, PROVISIONER = ("operator",), ("provisioner", "--node", "node-1")


def called(*words: str) -> Any:
    return CliRunner().invoke(app, words)


@pytest.fixture(autouse=True)
def home(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A laptop: no service account, and a kubeconfig in both places where kubectl looks."""
    (tmp_path / ".kube").mkdir()
    (tmp_path / ".kube/config").write_text(CONFIG)
    monkeypatch.setattr(main.logs, "configure", lambda _: None)
    monkeypatch.setenv("HOME", str(tmp_path))
    monkeypatch.setenv("KUBECONFIG", str(tmp_path / ".kube/config"))
    return tmp_path


@pytest.mark.parametrize("program", [OPERATOR, PROVISIONER], ids=lambda words: words[0])
def test_outside_of_a_pod_a_program_needs_a_kubeconfig(program: tuple[str, ...]) -> None:
    result = called(*program)
    assert (result.exit_code, result.stdout) == (1, "")
    assert result.stderr.startswith("The service account of a pod cannot be used")
    assert result.stderr.endswith("outside of a pod, name a kubeconfig by --kubeconfig FILE\n")


@pytest.mark.parametrize("program", [OPERATOR, PROVISIONER], ids=lambda words: words[0])
@pytest.mark.parametrize(("text", "problem"), [(None, "not found"), ("[]", "it is empty")])
def test_an_unusable_kubeconfig_is_a_sentence(
    program: tuple[str, ...], text: str | None, problem: str, home: Path
) -> None:
    path = home / "admin.conf"
    if text is not None:
        path.write_text(text)
    result = called(*program, "--kubeconfig", str(path))
    assert result.exit_code == 1
    assert result.stderr.startswith(f"{path} is not a usable kubeconfig: ")
    assert result.stderr.endswith(f"{problem}\n")
