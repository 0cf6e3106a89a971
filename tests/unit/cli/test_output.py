from __future__ import annotations

import json

import pytest
import yaml

from stackwright.cli.output import Format, ago, dumped, table


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
    assert json.loads(dumped(data, Format.JSON)) == data
    assert yaml.safe_load(dumped(data, Format.YAML)) == data
    assert "&" not in dumped(data, Format.YAML)


def test_columns_are_aligned() -> None:
    assert table([("NAME", "READY"), ("keystone", "yes")]) == "NAME       READY\nkeystone   yes"
