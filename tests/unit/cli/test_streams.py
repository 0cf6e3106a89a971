"""Standard input, output and error that are closed, full or at their end; and calls without a command."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest

from stackwright.cli import common
from stackwright.cli.app import main
from stackwright.runtime.memory import MemoryCluster
from tests.unit.cli.test_commands import called, cluster

__all__ = ["cluster"]
PROGRAM = f"{sys.executable} -c 'from stackwright.cli.app import main; main()'"


def in_shell(words: str, place: Path) -> Any:
    kept = {name: os.environ[name] for name in ("PATH", "PYTHONPATH") if name in os.environ}
    return subprocess.run(
        ["sh", "-c", f"{PROGRAM} {words}"], capture_output=True, text=True, check=False, cwd=place,
        env={**kept, "HOME": str(place), "STACKWRIGHT_HOME": str(place / "local")},
    )  # fmt: skip


@pytest.mark.parametrize("words", ["crds", "--help"])
def test_a_full_disk_is_told_as_such(words: str, tmp_path: Path) -> None:
    ended = in_shell(f"{words} >/dev/full", tmp_path)
    assert (ended.returncode, ended.stderr) == (1, "No space left on device\n")


def test_a_closed_input_is_an_empty_one(tmp_path: Path) -> None:
    ended = in_shell("plan -f - <&-", tmp_path)
    assert (ended.returncode, ended.stderr) == (1, "-: contains no manifest\nNothing was changed.\n")


def test_a_closed_output_stops_no_command(cluster: MemoryCluster, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(common, "given", common.Common())
    monkeypatch.setattr(sys, "stdout", None)
    monkeypatch.setattr(sys, "argv", ["stackwright", "servers"])
    with pytest.raises(SystemExit) as ended:
        main()
    sys.stdout.close()
    assert ended.value.code == 0


@pytest.mark.parametrize(
    "given",
    [
        {},
        {"COMP_WORDS": "stackwright servers ", "COMP_CWORD": "x"},
        {"COMP_WORDS": "stackwright serves ", "COMP_CWORD": "2"},
    ],
)
def test_completion_tells_no_errors(
    given: dict[str, str], monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    for name, value in {"_STACKWRIGHT_COMPLETE": "complete_bash", **given}.items():
        monkeypatch.setenv(name, value)
    monkeypatch.setattr(sys, "argv", ["stackwright"])
    with pytest.raises(SystemExit):
        main()
    told = capsys.readouterr()
    assert (told.out.strip(), told.err) == ("", "")


@pytest.mark.parametrize("words", [[], ["--"]])
def test_without_a_command_the_help_is_printed(words: list[str]) -> None:
    ended = called(*words)
    assert ended.exit_code == 2
    assert "Usage: stackwright" in ended.output
