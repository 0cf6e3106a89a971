"""Small things on the command line: versions, misspelt commands, readable logs, failures without a traceback."""

from __future__ import annotations

import json
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
import typer
from typer.testing import CliRunner

from stackwright.cli.app import COMMANDS, LazyCommand, app
from stackwright.cli.common import duration
from stackwright.cli.show.logs import age, readable
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
        (("rollback", "cloud", "1.5"), "'revision': takes a whole number"),
        (("logs", "keystone", "--tail", "-5"), "'--tail': must be at least -1"),
        (("logs", "keystone", "--tail", "9" * 20), "'--tail': must be at most 2147483647"),
        (("operator", "--health-port", "99999"), "'--health-port': must be at most 65535"),
        (("operator", "--metrics-port", "0"), "'--metrics-port': must be at least 1"),
        (("operator", "--webhook-port", "-1"), "'--webhook-port': must be at least 1"),
        (("provisioner", "--health-port", "65536"), "'--health-port': must be at most 65535"),
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


@pytest.mark.parametrize(
    ("text", "seconds"),
    [
        ("90s", 90),
        ("15m", 900),
        ("2h", 7200),
        ("1h30m", 5400),
        ("600", 600),
        ("0.05", 0.05),
        ("0", 0),
        ("8760h", 31536000),
    ],
)
def test_durations(text: str, seconds: float) -> None:
    assert duration(text) == seconds


WRONG = (
    "abc",
    "nan",
    "inf",
    "-inf",
    "1e999",
    "1e3",
    "-5",
    "-5m",
    "m",
    "1d",
    "5m2h",
    "٣s",
    "٣",
    " 5",
    "5\n",
    "8761h",
    "1" * 9,
)


@pytest.mark.parametrize("text", ["", *WRONG])
def test_an_invalid_duration_is_rejected(text: str) -> None:
    with pytest.raises(typer.BadParameter):
        duration(text)


@pytest.mark.parametrize(
    ("words", "least"),
    [
        *((words, 0) for words in (("wait",), ("apply", "-f", "-"), ("delete",), ("restart", "nova"), ("rollback",))),
        (("logs", "nova"), 1),
    ],
)
def test_all_commands_reject_the_same_durations_and_name_option_and_allowed_values(
    words: tuple[str, ...], least: int
) -> None:
    option = "--since" if least else "--timeout"
    for text in (*WRONG, *(("0", "0s", "0.9") if least else ())):
        result = called(*words, f"{option}={text}")
        told = f"Invalid value for '{option}': {text!r} is not allowed; allowed: seconds (90) or "
        assert result.exit_code == 2, (text, result.output)
        assert told in result.stderr, result.stderr
        assert result.stderr.rstrip().endswith(f"from {least} s to 8760h")


def commands() -> Iterator[Any]:
    for name in COMMANDS:
        command: Any = LazyCommand(name=name).load()
        yield from getattr(command, "commands", {name: command}).values()


def test_no_option_takes_a_number_that_may_be_nan_or_infinite() -> None:
    """Durations, the only numbers with a fraction, are parsed by `common.duration`."""
    numbers = {
        (command.name, param.name): param.type_descriptor.parameter_info.parser
        for command in commands()
        for param in command.params
        if param.type_descriptor.annotation is float
    }
    waits = {(name, "timeout"): duration for name in ("wait", "apply", "delete", "restart", "rollback")}
    assert numbers == {**waits, ("logs", "since"): age}


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
