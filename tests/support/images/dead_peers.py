"""Libraries as in the images, beside those of their authors."""

from __future__ import annotations

import shutil
import subprocess
import sys
from pathlib import Path

import keystoneauth1
import pymysql

from support.paths import ROOT

LIBRARIES = {"keystoneauth1": keystoneauth1.__file__, "pymysql": pymysql.__file__}
SCRIPT = ROOT / "images/base-python/dead_peers.py"


def patched(folder: Path, file: str) -> Path:
    """A copy of the library of a file that the script has changed, for PYTHONPATH=<folder>; returns the file."""
    name = Path(file).parts[0]
    shutil.copytree(Path(LIBRARIES[name]).parent, folder / name)
    subprocess.run([sys.executable, SCRIPT, folder / file], check=True)
    return folder / file
