"""The program as a plug-in of kubectl: its name in texts, and its completions in the format of kubectl."""

from __future__ import annotations

import sys
from typing import Any

import pytest
from typer.testing import CliRunner

from stackwright.cli import app as module
from stackwright.cli.app import COMMANDS, COMPLETION, PLUGIN, app


def called(*words: str, program: str = PLUGIN) -> Any:
    return CliRunner().invoke(app, words, prog_name=program)


def test_the_help_names_what_a_user_types() -> None:
    text = called("--help").stdout
    assert text.startswith("Usage: kubectl stackwright [OPTIONS] COMMAND")
    assert "kubectl stackwright up --nodes 3" in text
    for name in COMMANDS:
        assert "kubectl stackwright " + name in called(name, "--help").stdout
    text = called("images", "import", "--help").stdout
    assert text.startswith("Usage: kubectl stackwright images import ")
    assert "A file of `kubectl stackwright images export`." in text
    assert "    kubectl stackwright images push registry.example.org/stackwright\n" in text


def test_the_help_of_the_program_itself_stays() -> None:
    before = {name: called(name, "--help", program="stackwright").stdout for name in COMMANDS}
    for name in COMMANDS:
        called(name, "--help")
    assert {name: called(name, "--help", program="stackwright").stdout for name in COMMANDS} == before
    assert not any("kubectl stackwright" in text for text in before.values())


def test_wrong_usage_names_the_plugin() -> None:
    result = called("statu")
    assert result.exit_code == 2
    assert "Usage: kubectl stackwright" in result.stderr
    assert "Did you mean status?" in result.stderr


def test_the_plugin_installs_no_completion() -> None:
    """It would replace that of kubectl."""
    assert "completion" not in called("--help").stdout
    assert called("--install-completion").exit_code == 2
    assert "--install-completion" in called("--help", program="stackwright").stdout


def test_kubectl_starts_it_by_its_name(monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]) -> None:
    monkeypatch.setattr(sys, "argv", ["kubectl-stackwright", "status", "--help"])
    with pytest.raises(SystemExit) as end:
        module.plugin()
    assert end.value.code == 0
    assert capsys.readouterr().out.startswith("Usage: kubectl stackwright status ")


@pytest.mark.parametrize(
    ("words", "lines"),
    [
        (["rest"], ["restart\tRestart the pods of a service by a rolling..."]),
        (["logs", "keyst"], ["keystone"]),
        (["images", "pu"], ["push\tPush images and charts to a registry."]),
        (["status", "--names"], ["--namespace\tNamespace of the cloud."]),
        (["apply", "-f", "cl"], []),
        (["logs", "it's $HOME", "keyst"], []),
    ],
)
def test_candidates_are_printed_with_their_meaning(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str], words: list[str], lines: list[str]
) -> None:
    monkeypatch.setattr(sys, "argv", ["kubectl_complete-stackwright", *words])
    monkeypatch.setenv(COMPLETION, "")  # restored after the test, as are those below
    for name in ("_TYPER_COMPLETE_FISH_ACTION", "_TYPER_COMPLETE_ARGS"):
        monkeypatch.setenv(name, "")
    with pytest.raises(SystemExit):
        module.complete_plugin()
    assert capsys.readouterr().out.split("\n")[:-1] == (lines or [""]), "kubectl skips empty lines"


@pytest.mark.parametrize("words", [[], [""]])
def test_without_a_word_all_commands_are_candidates(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str], words: list[str]
) -> None:
    monkeypatch.setattr(sys, "argv", ["kubectl_complete-stackwright", *words])
    for name in (COMPLETION, "_TYPER_COMPLETE_FISH_ACTION", "_TYPER_COMPLETE_ARGS"):
        monkeypatch.setenv(name, "")
    with pytest.raises(SystemExit):
        module.complete_plugin()
    assert [line.split("\t")[0] for line in capsys.readouterr().out.splitlines()] == list(COMMANDS)
