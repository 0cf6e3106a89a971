"""The layers of docs/architecture.md, held by import-linter (.importlinter at the root of the project)."""

import subprocess
import sys
from pathlib import Path

from support.paths import ROOT


def test_no_module_imports_higher_or_independent_layers():
    program = Path(sys.executable).parent / "lint-imports"
    done = subprocess.run([program, "--no-cache"], cwd=ROOT, capture_output=True, text=True, timeout=60)
    assert done.returncode == 0, done.stdout[-3000:] + done.stderr
    assert "0 broken" in done.stdout
