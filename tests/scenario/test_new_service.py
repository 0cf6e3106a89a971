"""A made-up service becomes part of the project with its own folders and one line of the registry."""

from __future__ import annotations

import os
import shutil
import subprocess
import sys
from pathlib import Path

from support.paths import ROOT

FIXTURE = ROOT / "tests/scenario/new_service"
FOLDERS = ("src", "charts", "images", "tools")
LOCK = "requirements.lock"  # an input of images, like tools
REGISTRY = "src/stackwright/services/registry.py"
AFFECTED = ("services/test_declarations", "services/test_features", "local/image/test_images")  # all affect these


def test_a_new_service_needs_its_folders_and_one_line(tmp_path: Path) -> None:
    for folder in FOLDERS:
        shutil.copytree(ROOT / folder, tmp_path / folder, symlinks=True)  # compiled modules are valid there, too
    shutil.copy(ROOT / LOCK, tmp_path)
    shutil.copytree(FIXTURE, tmp_path, symlinks=True, dirs_exist_ok=True)
    registry = tmp_path / REGISTRY
    before, tuple_, after = registry.read_text().partition("\n)\nSERVICES:")
    assert tuple_
    registry.write_text(f'{before}\n    "almanac",{tuple_}{after}')

    tests = [FIXTURE / "installed.py", *(ROOT / f"tests/unit/{name}.py" for name in AFFECTED)]
    command = [sys.executable, "-m", "pytest", "-q", "-n", "0", "-p", "no:cacheprovider", *map(str, tests)]
    environment = {**os.environ, "PYTHONPATH": str(tmp_path / "src"), "PYTEST_ADDOPTS": ""}
    done = subprocess.run(command, cwd=ROOT, env=environment, capture_output=True, text=True, timeout=300)
    assert done.returncode == 0, done.stdout + done.stderr


def test_the_made_up_service_has_only_folders_of_its_own() -> None:
    """It adds files and replaces none."""
    added = [path.relative_to(FIXTURE) for path in FIXTURE.glob("*/**/*.*") if path.suffix != ".pyc"]
    assert [path for path in added if "almanac" not in path.parts or (ROOT / path).exists()] == []
