"""PyMySQL as in the images, beside that of its authors."""

from __future__ import annotations

import shutil
import subprocess
import sys
from pathlib import Path

import pymysql

from support.paths import ROOT

SCRIPT = ROOT / "images/base-python/dead_peers.py"


def patched(folder: Path) -> Path:
    """A copy of the library that the script has changed, for PYTHONPATH=<folder>."""
    ours = folder / "pymysql"
    shutil.copytree(Path(pymysql.__file__).parent, ours)
    subprocess.run([sys.executable, SCRIPT, ours / "connections.py"], check=True)
    return ours
