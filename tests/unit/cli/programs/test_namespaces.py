"""The option --namespaces of the operator."""

from __future__ import annotations

from typing import Any

import pytest
from typer.testing import CliRunner

from stackwright import main
from stackwright.cli.app import app


@pytest.fixture
def given(monkeypatch: pytest.MonkeyPatch) -> list[main.Options]:
    found: list[main.Options] = []

    async def operate(options: main.Options, *_: Any) -> None:
        found.append(options)

    monkeypatch.setattr(main, "operate", operate)
    return found


def test_the_operator_manages_the_named_namespaces_or_all(given: list[main.Options]) -> None:
    for words in (["--namespaces=a, b,a"], []):
        assert CliRunner().invoke(app, ["operator", *words]).exit_code == 0
    assert [each.namespaces for each in given] == [("a", "b"), ()]


def test_a_wrong_name_is_an_error_that_quotes_it(given: list[main.Options]) -> None:
    for wrong in ("a,B", "a,", "../x"):
        result = CliRunner().invoke(app, ["operator", f"--namespaces={wrong}"])
        assert (result.exit_code, given) == (2, [])
        assert repr(wrong.split(",")[-1]) in result.output
