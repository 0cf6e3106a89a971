"""Small things on the command line: versions, misspelt commands, readable logs, failures without a traceback."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest
import typer
from typer.testing import CliRunner

from stackwright.cli.app import app
from stackwright.cli.show.logs import duration, readable
from stackwright.cli.use.shell import FOUND_BY_SHELL


def called(*words: str) -> Any:
    return CliRunner().invoke(app, words)


@pytest.mark.parametrize(("word", "meant"), [("sttus", "status"), ("aply", "apply"), ("lgos", "logs")])
def test_a_misspelt_command_gets_a_suggestion(word: str, meant: str) -> None:
    result = called(word)
    assert result.exit_code == 2
    assert f"Did you mean {meant}" in result.stderr


def test_a_word_like_no_command_gets_no_suggestion() -> None:
    assert "Did you mean" not in called("xyzzy").stderr


@pytest.mark.parametrize(
    ("words", "told"),
    [
        (("logs", "keystone", "--tail", "abc"), "'--tail': takes a whole number"),
        (("wait", "--timeout", "abc"), "'--timeout': takes a number"),
        (("wait", "--timeout", "nan"), "'--timeout': must be at least 0"),
        (("rollback", "cloud", "1.5"), "'revision': takes a whole number"),
        (("version", "-o", "xml"), "'xml' is not one of 'table', 'json', 'yaml'."),
        (("images", "list", "-o", "xml"), "'--output' / '-o': 'xml' is not one of 'table', 'json', 'yaml'."),
    ],
)
def test_a_wrong_option_is_told_in_the_words_of_manifests(words: tuple[str, ...], told: str) -> None:
    result = called(*words)
    assert result.exit_code == 2
    assert result.stderr.rstrip().endswith(told)


def test_a_directory_that_cannot_be_written_is_a_sentence(tmp_path: Path) -> None:
    (tmp_path / "file").touch()
    for where in ("/proc/x", str(tmp_path / "file")):
        result = called("crds", "--dir", where)
        assert (result.exit_code, result.stdout) == (1, "")
        assert result.stderr.startswith(f"--dir {where}: ")
        assert len(result.stderr.splitlines()) == 1


def test_the_version_is_printed_without_a_cluster(tmp_path: Path) -> None:
    (tmp_path / "kubeconfig").write_text("")
    result = called("version", "-o", "json", "--kubeconfig", str(tmp_path / "kubeconfig"))
    assert result.exit_code == 0
    told = json.loads(result.stdout)
    assert told["program"]
    assert (told["operator"], told["clouds"]) == (None, [])
    assert "kubeconfig" in told["problem"]


@pytest.mark.parametrize(("text", "seconds"), [("90s", 90), ("15m", 900), ("2h", 7200), ("1h30m", 5400)])
def test_durations(text: str, seconds: int) -> None:
    assert duration(text) == seconds


@pytest.mark.parametrize("text", ["", "5", "m", "0s", "-5m", "1d", "5m2h", "٣s9"])
def test_an_invalid_duration_is_rejected(text: str) -> None:
    with pytest.raises(typer.BadParameter):
        duration(text)


def test_a_structured_line_becomes_text_and_others_are_unchanged() -> None:
    line = {"event": "action", "level": "info", "timestamp": "2026-11-24T20:59:36.67Z", "object": "openstack/nova"}
    assert readable(json.dumps(line)) == "2026-11-24 20:59:36  info     action  object=openstack/nova"
    failed = {**line, "exception": "Traceback\n  ValueError"}
    assert readable(json.dumps(failed)).splitlines()[1:] == ["    Traceback", "      ValueError"]
    for other in ("GET /v3 200", '{"no": "event"}', "{broken", '{"event'):
        assert readable(other) == other


def test_a_command_that_the_pod_lacks_is_the_shells_to_report() -> None:
    import subprocess

    done = subprocess.run([*FOUND_BY_SHELL, "nosuch", "a b"], capture_output=True, text=True, check=False)
    assert done.returncode == 127
    assert "nosuch" in done.stderr
    passed = subprocess.run(
        [*FOUND_BY_SHELL, "printf", "%s|", "a b", "c'd"], capture_output=True, text=True, check=True
    )
    assert passed.stdout == "a b|c'd|"
