"""The layers of docs/architecture.md, held by import-linter (.importlinter at the root of the project)."""

import configparser
import subprocess
import sys
from pathlib import Path

from support.paths import ROOT

SHARED = {"infra"}  # of four controllers


def test_no_module_imports_higher_or_independent_layers():
    program = Path(sys.executable).parent / "lint-imports"
    done = subprocess.run([program, "--no-cache"], cwd=ROOT, capture_output=True, text=True, timeout=60)
    assert done.returncode == 0, done.stdout[-3000:] + done.stderr
    assert "0 broken" in done.stdout


def test_the_contract_of_the_controllers_names_all_of_them():
    contracts = configparser.ConfigParser()
    contracts.read(ROOT / ".importlinter")
    named = contracts["importlinter:contract:controllers"]["modules"].split()
    folders = {path.parent.name for path in (ROOT / "src/stackwright/controllers").glob("*/__init__.py")} - SHARED
    assert sorted(named) == sorted(f"stackwright.controllers.{name}" for name in folders)
