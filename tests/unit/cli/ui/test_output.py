from __future__ import annotations

import json

import pytest
import yaml

from stackwright.cli.ui.output import Data, Format, ago, dumped, show, table


@pytest.mark.parametrize(
    ("seconds", "text"),
    [(0, "0s"), (-3, "0s"), (119, "119s"), (120, "2m"), (125, "2m5s"), (700, "11m"), (7200, "120m"),
     (4 * 3600, "4h"), (47 * 3600, "47h"), (50 * 3600, "2d2h"), (10 * 86400, "10d")],
)  # fmt: skip
def test_ago(seconds: float, text: str) -> None:
    assert ago(seconds) == text


def test_data_can_be_read_back() -> None:
    shared = ["ä"]
    data = {"b": shared, "a": shared}
    assert json.loads(dumped(data, Data.JSON)) == data
    assert yaml.safe_load(dumped(data, Data.YAML)) == data
    assert "&" not in dumped(data, Data.YAML)


@pytest.mark.parametrize(("format_", "same"), [(Format.JSON, Data.JSON), (Format.YAML, Data.YAML)])
def test_programs_get_data_and_no_text_is_built(
    capsys: pytest.CaptureFixture[str], format_: Format, same: Data
) -> None:
    show(format_, {"a": 1}, lambda: pytest.fail("it was built"))
    assert capsys.readouterr().out == dumped({"a": 1}, same) + "\n"
    assert dumped({"a": 1}, Data.JSON) != dumped({"a": 1}, Data.YAML)


def test_people_get_a_text_whose_colours_are_its_only_control_characters(capsys: pytest.CaptureFixture[str]) -> None:
    show(Format.TABLE, {}, lambda: "\x1b[32mready\x1b[0m\n\x1b]0;title\x07")
    assert capsys.readouterr().out == "ready\n\\x1b]0;title\\x07\n"


def test_columns_are_aligned() -> None:
    assert table([("NAME", "READY"), ("keystone", "yes")]) == "NAME       READY\nkeystone   yes"
