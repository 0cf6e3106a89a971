"""Limits of the source tree, and tables of it that are written by hand."""

from __future__ import annotations

import re
from collections import Counter

import pytest

from stackwright.local.image import recipes
from support.paths import ROOT

SOURCES = ROOT / "src/stackwright"
TESTS = ROOT / "tests"
LINES, MODULES = 300, 15
FIXED = {"__init__.py", "conftest.py"}  # Python and pytest prescribe their names and folders


def test_no_module_has_more_than_300_lines() -> None:
    lines = {str(path.relative_to(ROOT)): path.read_text().count("\n") for path in SOURCES.rglob("*.py")}
    assert len(lines) > 400
    assert {name: count for name, count in lines.items() if count > LINES} == {}


def test_no_folder_has_more_than_15_modules_side_by_side() -> None:
    found = (path for folder in (SOURCES, TESTS) for path in folder.rglob("*.py") if path.name not in FIXED)
    modules = Counter(str(path.parent.relative_to(ROOT)) for path in found)
    assert len(modules) > 150
    assert {name: count for name, count in modules.items() if count > MODULES} == {}


@pytest.mark.parametrize(
    ("page", "names"),
    [
        ("docs/reference/images.md", {*recipes.load().images}),
        ("charts/README.md", {path.parent.name for path in ROOT.glob("charts/*/Chart.yaml")} - {"lib"}),
    ],
)
def test_each_image_and_each_chart_has_a_row_in_its_table(page: str, names: set[str]) -> None:
    rows = set(re.findall(r"^\| `([a-z0-9-]+)` \|", (ROOT / page).read_text(), re.MULTILINE))
    assert names - rows == set()
