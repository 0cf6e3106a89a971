"""A made-up service becomes part of the project with its own folders and one line of the registry."""

from __future__ import annotations

import os
import shutil
import subprocess
import sys
from pathlib import Path

ROOT = Path(__file__).parents[2]
FIXTURE = Path(__file__).parent / "new_service"
FOLDERS = ("src", "charts", "images")
REGISTRY = "src/stackwright/services/registry.py"


def files(root: Path) -> dict[str, bytes]:
    """Path → content of each source."""
    found = [path for folder in FOLDERS for path in (root / folder).rglob("*") if path.is_file()]
    return {str(path.relative_to(root)): path.read_bytes() for path in found if path.suffix != ".pyc"}


def test_a_new_service_needs_its_folders_and_one_line(tmp_path: Path) -> None:
    for folder in FOLDERS:
        shutil.copytree(ROOT / folder, tmp_path / folder, symlinks=True)  # with compiled modules, which are valid there
        shutil.copytree(FIXTURE / folder, tmp_path / folder, symlinks=True, dirs_exist_ok=True)
    registry = tmp_path / REGISTRY
    before, tuple_, after = registry.read_text().partition("\n)\nSERVICES:")
    assert tuple_
    registry.write_text(f'{before}\n    "almanac",{tuple_}{after}')

    command = [sys.executable, "-m", "pytest", "-q", "-p", "no:cacheprovider", str(FIXTURE / "installed.py")]
    environment = {**os.environ, "PYTHONPATH": str(tmp_path / "src"), "PYTEST_ADDOPTS": ""}
    done = subprocess.run(command, cwd=ROOT, env=environment, capture_output=True, text=True, timeout=100)
    assert done.returncode == 0, done.stdout + done.stderr
    assert "4 passed" in done.stdout

    ours, theirs = files(ROOT), files(tmp_path)
    assert {path for path in theirs if ours.get(path) != theirs[path]} == {*files(FIXTURE), REGISTRY}
