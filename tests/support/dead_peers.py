"""Libraries as in the images, beside those of their authors."""

from __future__ import annotations

import importlib.util
import shutil
import subprocess
import sys
from pathlib import Path

from support.paths import ROOT

SCRIPT = ROOT / "images/base-python/dead_peers.py"


def patched(folder: Path, file: str) -> Path:
    """A copy of the library of a file that the script has changed, for PYTHONPATH=<folder>; returns the file."""
    name = Path(file).parts[0]
    spec = importlib.util.find_spec(name)
    assert spec is not None and spec.origin is not None
    shutil.copytree(Path(spec.origin).parent, folder / name)
    subprocess.run([sys.executable, SCRIPT, folder / file], check=True)
    return folder / file
