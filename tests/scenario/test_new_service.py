"""A made-up service becomes part of the project with its own folders and one line of the registry."""

from __future__ import annotations

import os
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

from support.paths import ROOT

FIXTURE = ROOT / "tests/scenario/new_service"
FOLDERS = ("src", "charts", "images", "tools")
LOCK = "requirements.lock"  # an input of images, like tools
REGISTRY = "src/stackwright/services/registry.py"
# All services affect these.
AFFECTED = (
    "services/test_declarations",
    "services/test_features",
    "local/image/test_images",
    "api/test_reference_fields",
)


def add(target: Path, name: str, service: str) -> None:
    """Adds the fixture's folders under these names, and its line of the registry."""
    names = {"almanac": name, "Almanac": name.title(), "calendar": service}
    for path in FIXTURE.glob("*/**/*"):
        if "__pycache__" in path.parts or (path.is_dir() and not path.is_symlink()):
            continue
        copy = target / str(path.relative_to(FIXTURE)).replace("almanac", name)
        copy.parent.mkdir(parents=True, exist_ok=True)
        if path.is_symlink():
            copy.symlink_to(path.readlink())
            continue
        text = path.read_text()
        for old, new in names.items():
            text = text.replace(old, new)
        copy.write_text(text)
    registry = target / REGISTRY
    before, tuple_, after = registry.read_text().partition("\n)\nSERVICES:")
    assert tuple_
    registry.write_text(f'{before}\n    "{name}",{tuple_}{after}')


@pytest.mark.parametrize(
    ("name", "service"), [("almanac", "calendar"), ("aodh", "alarming")], ids=["any", "of-the-reference"]
)
def test_a_new_service_needs_its_folders_and_one_line(tmp_path: Path, name: str, service: str) -> None:
    for folder in FOLDERS:
        shutil.copytree(ROOT / folder, tmp_path / folder, symlinks=True)  # compiled modules are valid there, too
    shutil.copy(ROOT / LOCK, tmp_path)
    add(tmp_path, name, service)

    tests = [FIXTURE / "installed.py", *(ROOT / f"tests/unit/{name}.py" for name in AFFECTED)]
    command = [sys.executable, "-m", "pytest", "-q", "-n", "0", "-p", "no:cacheprovider", *map(str, tests)]
    environment = {**os.environ, "PYTHONPATH": str(tmp_path / "src"), "PYTEST_ADDOPTS": ""}
    done = subprocess.run(command, cwd=ROOT, env=environment, capture_output=True, text=True, timeout=300)
    assert done.returncode == 0, done.stdout + done.stderr


def test_the_made_up_service_has_only_folders_of_its_own() -> None:
    """It adds files and replaces none."""
    added = [path.relative_to(FIXTURE) for path in FIXTURE.glob("*/**/*.*") if path.suffix != ".pyc"]
    assert [path for path in added if "almanac" not in path.parts or (ROOT / path).exists()] == []
