"""Foreign texts, such as output of pods and API servers, reach a terminal without control characters."""

from __future__ import annotations

import ast
import json
from pathlib import Path
from typing import Any

import pytest
import typer
from typer.testing import CliRunner

from stackwright import cli
from stackwright.cli import common
from stackwright.cli.app import app
from stackwright.cli.change.plan import _text
from stackwright.cli.show.status import Answer, _changed_lines
from stackwright.cli.ui.output import Data, dumped
from stackwright.cli.ui.progress import _live
from stackwright.cli.ui.steps import lines
from stackwright.cli.ui.tree import BUSY, Node
from stackwright.core.errors import TerminalError
from stackwright.forecast.entries import DELETE, Entry
from stackwright.forecast.simulate import Cause
from support.commands import connect
from tests.unit.cli.show.test_pods import cluster, pod

EVIL = "no \x1b]0;evil\x07\x1b[2J\x9b2J\r\u202e"
SEEN = "no \\x1b]0;evil\\x07\\x1b[2J\\x9b2J\\r\\u202e"


def test_all_output_for_people_passes_one_function() -> None:
    """Only `common.py` writes; output for programs is from `dumped`, or raw on request of the user."""
    assert cli.__file__
    found = {
        path.name
        for path in Path(cli.__file__).parent.rglob("*.py")
        for node in ast.walk(ast.parse(path.read_text()))
        if isinstance(node, ast.Call)
        and ast.unparse(node.func) in ("print", "typer.echo", "typer.secho", "sys.stdout.write", "sys.stderr.write")
    }
    assert found == {"common.py"}


@pytest.mark.parametrize("err", [False, True])
def test_terminal_control_sequences_are_escaped(capsys: pytest.CaptureFixture[str], err: bool) -> None:
    common.echo(f"{EVIL}\n\tb", err=err)
    assert capsys.readouterr()[err] == f"{SEEN}\n\tb\n"


def test_our_own_colours_are_kept(monkeypatch: pytest.MonkeyPatch) -> None:
    red = typer.style("x", fg="red")
    written: list[str] = []
    monkeypatch.setattr(typer, "echo", lambda text, **_: written.append(text))
    common.echo(f"{red} {EVIL}", painted=True)
    common.echo(red)
    assert written == [f"{red} {SEEN}", "\\x1b[31mx\\x1b[0m"]


def test_changes_of_a_state_without_a_terminal(capsys: pytest.CaptureFixture[str]) -> None:
    draw = _changed_lines()
    for message in ("x", EVIL):
        draw(Answer([Node(BUSY, "c", children=(Node(BUSY, "Pod p", message),))], None, None))
    assert SEEN in capsys.readouterr().out


def called(monkeypatch: pytest.MonkeyPatch, there: Any, *words: str) -> Any:
    connect(monkeypatch, there)
    return CliRunner().invoke(app, words)


def test_why_a_pod_has_no_log_and_no_shell(monkeypatch: pytest.MonkeyPatch) -> None:
    failed = pod("p", "keystoneclient", ready=False)
    failed["status"] |= {"phase": "Failed", "message": EVIL}
    for words in (("logs", "p"), ("shell", "--", "true")):
        result = called(monkeypatch, cluster(failed), *words)
        assert result.exit_code == 1
        assert f"Pod p: {SEEN}" in result.stderr
        assert "\x1b" not in result.output


def test_errors_of_an_api_server(monkeypatch: pytest.MonkeyPatch) -> None:
    class Away:
        async def list(self, *_: Any) -> Any:
            raise TerminalError(EVIL)

    result = called(monkeypatch, Away(), "history")
    assert (result.exit_code, result.stderr) == (1, f"{SEEN}\n")


def test_plans() -> None:
    red = "\x1b[31m"
    text = _text([], {"a": Cause(f"{red}x", red)}, lines([Entry(DELETE, "delete", f"server {red}", f"for {red}")]))
    assert "\x1b" not in "".join(text)


def test_json_is_safe_and_the_same() -> None:
    data = {EVIL: [EVIL, "a\x7f\x85ä\xa0"]}
    text = dumped(data, Data.JSON)
    assert not set(text) & {chr(each) for each in (*range(10), *range(11, 32), *range(127, 160))}
    assert json.loads(text) == data


def test_details_of_a_step(capsys: pytest.CaptureFixture[str]) -> None:
    """They are no markup either."""
    with _live("A step") as report:
        report(f"[/dim][/nothing] {EVIL}")
    assert "\x1b]0" not in capsys.readouterr().out
