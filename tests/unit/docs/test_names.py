"""The files of our code that pages name in backticks exist, and so do the definitions and tests in them."""

from __future__ import annotations

import re
from pathlib import Path

import pytest

from support.paths import ROOT
from tests.unit.docs.test_commands_and_anchors import HAND

SOURCES = ROOT / "src/stackwright"
HOMES = {path.name: SOURCES for path in SOURCES.iterdir() if path.is_dir()}
HOMES |= dict.fromkeys(("src", "tests", "tools", "docs", "charts", "images", "examples", "bench"), ROOT)
CODE = re.compile(r"`([\w.-]+(?:/[\w.-]+)+)(?:::(\w+))?`")
PLACEHOLDER = re.compile(r"(?:^|/)[A-Z]+(?:[./]|$)")


def fault(name: str, test: str = "") -> str:
    """Why there is no such file or definition; empty if there is, or if it is no name of our code."""
    home = HOMES.get(name.partition("/")[0])
    if home is None or PLACEHOLDER.search(name):
        return ""
    for path in (home / name, home / f"{name}.py"):
        if path.exists():
            return "" if not test or _defines(path, test) else f"{name} does not define {test}"
    folder, _, last = name.rpartition("/")
    module, *definitions = last.split(".")
    files = (home / folder / f"{module}.py", home / folder / module / "__init__.py")
    if path := next((each for each in files if each.exists()), None):
        missing = [each for each in definitions if not _defines(path, each)]
        return f"{folder}/{module} does not define {', '.join(missing)}" if missing else ""
    return f"{name} does not exist"


def _defines(path: Path, name: str) -> bool:
    definition = rf"^ *(?:async )?(?:def|class) {name}\b|^ *(?:\w+, )*{name}\b(?:, \w+)*(?::[^=\n]+)? ="
    return re.search(definition, path.read_text(), re.MULTILINE) is not None


@pytest.mark.parametrize("page", HAND, ids=lambda page: str(page.relative_to(ROOT)))
def test_names_of_our_code_on_a_page_exist(page: Path) -> None:
    assert [text for found in CODE.findall(page.read_text()) if (text := fault(*found))] == []


def test_tests_on_pages_exist() -> None:
    tests = "\n".join(path.read_text() for path in ROOT.glob("tests/**/*.py"))
    defined = set(re.findall(r"^ *(?:async )?def (test_\w+)", tests, re.MULTILINE))
    named = set(re.findall(r"`(?:[\w./-]+::|::)?(test_\w+)`", "\n".join(page.read_text() for page in HAND)))
    assert len(named) > 100
    assert sorted(named - defined) == []


@pytest.mark.parametrize(
    ("name", "right"),
    [
        ("core/helm/merge.py", True),
        ("core/helm/merge", True),
        ("controllers/infra", True),
        ("core/conditions.Wait", True),
        ("core/plan.staged", True),
        ("runtime/lease/fence.WriteFence.check", True),
        ("runtime/reconcile.ATTEMPTS", True),
        ("controllers/NAME", True),
        ("app.kubernetes.io/name", True),
        ("core/helm/merged", False),
        ("core/conditions.Waits", False),
        ("runtime/lease/fence.WriteFence.checks", False),
        ("controllers/nothing", False),
    ],
)
def test_a_name_that_does_not_exist_is_noticed(name: str, right: bool) -> None:
    assert (not fault(name)) is right
