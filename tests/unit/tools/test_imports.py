"""Packs read nothing of what `make e2e-all` does not count as a change of them."""

from __future__ import annotations

import packs
import pytest
import suite
from packs import Pack

from support.paths import ROOT
from tests.unit.tools.imports import DYNAMIC, forbidden, reads

PATH = "tests/e2e/packs/volumes/test_new.py"
SHARED = "tests/e2e/new.py"


def python(folder: str) -> list[str]:
    return sorted(path.relative_to(ROOT).as_posix() for path in (ROOT / folder).rglob("*.py"))


def home(pack: Pack) -> str:
    return f"{pack.folder.relative_to(ROOT).as_posix()}/"


def test_what_packs_share_reads_nothing_unread() -> None:
    found = [path for path in python("tests/e2e") if not path.startswith(suite.UNREAD)]
    found += ["tests/conftest.py", "tests/functional/conftest.py"]
    assert len(found) > 25
    assert forbidden(found, suite.UNREAD) == set()


@pytest.mark.parametrize("pack", packs.load(), ids=lambda pack: pack.name)
def test_a_pack_reads_nothing_unread_but_its_own(pack: Pack) -> None:
    """Nothing of the core, of other packs and of pure tests, unless its declaration names the file."""
    unread = [*python("tests/unit"), *python("tests/scenario")]
    named = tuple(path for path in unread if packs.selects(pack, [path]))
    own = [*python(home(pack)), *pack.also]
    assert own
    assert forbidden(own, suite.UNREAD, (home(pack), *pack.also, *named)) == set()


def test_the_core_reads_no_pack() -> None:
    """And packs read nothing of it, so what it reads is of itself or shared."""
    assert forbidden(python("tests/e2e/core"), suite.UNREAD, ("tests/e2e/core/",)) == set()


def test_what_packs_share_counts_for_them() -> None:
    shared = ("tests/e2e/conftest.py", "tests/conftest.py", "tests/e2e/clouds.py", "tools/cluster-api/x", "src/x.py")
    assert [path for path in shared if path.startswith(suite.UNREAD)] == []
    assert [path for path in suite.UNREAD if not (ROOT / path).exists()] == []


@pytest.mark.parametrize(
    ("text", "path"),
    [
        ("import tools.suite", "tools/suite.py"),
        ("import tools.suite as other", "tools/suite.py"),
        ("from tools import suite", "tools/suite.py"),
        ("from tools import docs, suite as other", "tools/suite.py"),
        ("from tools.packs import load", "tools/packs.py"),
        ("def f():\n    import suite", "tools/suite.py"),
        ("from suite import run", "tools/suite.py"),
        ("from tests.e2e.core import versions", "tests/e2e/core/versions.py"),
        ("from core.versions import versions", "tests/e2e/core/versions.py"),
        ("from tests import unit", "tests/unit/"),
        ("from tests.scenario import world", "tests/scenario/world.py"),
        ("from scenario.world import World", "tests/scenario/world.py"),
        ("from ..objects import test_objects", "tests/e2e/packs/objects/test_objects.py"),
        ("from ..objects.test_objects import x", "tests/e2e/packs/objects/test_objects.py"),
        ("from .. import objects", "tests/e2e/packs/objects/"),
        ("from ...core.versions import versions", "tests/e2e/core/versions.py"),
        ("from .....tools import suite", "tools/suite.py"),
        ("pytest_plugins = ['tests.scenario.world']", "tests/scenario/world.py"),
        ("monkeypatch.setattr('tools.suite.run', 1)", "tools/suite.py"),
        ("run(f'tools/suite.py {word}')", "tools/suite.py"),
        ("(ROOT / 'tests/e2e/record.json').read_text()", "tests/e2e/record.json"),
    ],
)
def test_an_import_of_something_unread_is_found(text: str, path: str) -> None:
    assert path.startswith(suite.UNREAD)
    assert path in reads(PATH, text)


@pytest.mark.parametrize(
    "text",
    [
        "import importlib\nimportlib.import_module(name)",
        "import importlib as loader",
        "import importlib.util",
        "from importlib import import_module as load",
        "__import__(name)",
        "pytest.importorskip(name)",
        "import runpy",
        "exec(text)",
    ],
)
def test_a_dynamic_import_is_found(text: str) -> None:
    """Its name is known only when it runs, so there must be none."""
    assert DYNAMIC in reads(PATH, text)


@pytest.mark.parametrize(
    "text",
    [
        "from vms import Vms",
        "from .. import conftest",
        "from tempest.course import run",
        "from stackwright.core import objects",
        "from support.paths import ROOT",
        "kubectl('exec', 'pod', '--', 'sh')",
    ],
)
def test_other_imports_are_allowed(text: str) -> None:
    found = reads(SHARED, text)
    assert not [each for each in found if each == DYNAMIC or each.startswith(suite.UNREAD)]


def test_a_module_is_followed_into_what_it_imports(monkeypatch: pytest.MonkeyPatch) -> None:
    world = {"tests/e2e/a.py": {"tests/support/b.py"}, "tests/support/b.py": {"tests/e2e/a.py", "tests/unit/c.py"}}
    monkeypatch.setattr("tests.unit.tools.imports.read_by", world.__getitem__)
    assert forbidden(["tests/e2e/a.py"], suite.UNREAD) == {"tests/support/b.py reads tests/unit/c.py"}
    world["tests/unit/c.py"] = set()
    assert forbidden(["tests/e2e/a.py"], suite.UNREAD, ("tests/unit/c.py",)) == set()
