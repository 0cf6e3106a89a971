"""No pattern of a chart's schema takes much time for any text: users write the values."""

from __future__ import annotations

import json
import re
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

CHARTS = Path(__file__).parents[4] / "charts"
LONG = 100_000
PUMPS = ("1{}x", "0.{}x", "0{}x", "a{}\n\n", "/{}\n\n", "a/{}\n", "{}a\n", "-{}\n", ".{} ", " {}\n", "a.{}!", "::{}\n")
FILL = ("1", "0", "a", "/", "-", ".", " ", "a.", "a/", ":", "1.", "A")


def patterns(schema: Any) -> Iterator[str]:
    if isinstance(schema, dict):
        if isinstance(schema.get("pattern"), str):
            yield schema["pattern"]
        for each in schema.values():
            yield from patterns(each)
    elif isinstance(schema, list):
        for each in schema:
            yield from patterns(each)


def every() -> list[str]:
    files = sorted(CHARTS.glob("*/values.schema.json"))
    return sorted({each for file in files for each in patterns(json.loads(file.read_text()))})


@pytest.mark.parametrize("pattern", every())
def test_it_takes_linear_time(pattern: str) -> None:
    began = time.process_time()
    for fill in FILL:
        text = fill * (LONG // len(fill))
        for pump in PUMPS:
            re.search(pattern, pump.format(text))
    assert time.process_time() - began < 5


def test_there_are_patterns() -> None:
    assert len(every()) > 15
