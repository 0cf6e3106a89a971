"""The start of Neutron's workers: what waits, what is restored, and when the pod counts as started."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import pytest

from support.paths import ROOT

SCRIPT = ROOT / "charts/neutron/bin/after-schema.py"
SCHEMA = """\
def connection_of(folder): return "url"
def wait(missing, what): print("waited for", what, flush=True)
"""
OVN = """\
def options_of(file): return {options}
def variables(options): return dict(OS_OVN__X="1") if options else {{}}
"""
RESTORE = """\
import pathlib
def restore(options, url, arguments):
    state = "started" if pathlib.Path("{started}").exists() else "not yet"
    print("restored", url, *arguments, state, flush=True)
"""
VERSIONS = "neutron/db/migration/alembic_migrations/versions"
STANDINS = {
    "schema.py": SCHEMA,
    "ovn.py": OVN,
    "restore.py": RESTORE,
    "neutron/__init__.py": "",
    f"{VERSIONS}/EXPAND_HEAD": "a\n",
    f"{VERSIONS}/CONTRACT_HEAD": "b\n",
}
PROGRAM = 'test -e {started} && echo "program $OS_OVN__X $1"'


def start(folder: Path, options: str, *words: str) -> list[str]:
    """What is printed, in a pod in which an earlier container had started."""
    started = folder / "started"
    started.touch()
    for name, text in STANDINS.items():
        path = folder / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(text.format(options=options, started=started) if "{" in text else text)
    script = folder / "after-schema.py"
    script.write_text(SCRIPT.read_text().replace("/tmp/started", str(started)))
    command = [sys.executable, script, *words, "sh", "-c", PROGRAM.format(started=started), "sh", "argument"]
    done = subprocess.run(command, env={"PATH": "/usr/bin:/bin"}, capture_output=True, text=True, timeout=60)
    assert done.returncode == 0, done.stderr
    return done.stdout.splitlines()


def test_a_program_starts_after_the_schema(tmp_path: Path) -> None:
    assert start(tmp_path, "{}") == ["waited for the database's schema", "program  argument"]


def test_with_ovn_its_addresses_are_in_the_environment(tmp_path: Path) -> None:
    assert start(tmp_path, "{'a': 'b'}") == ["waited for the database's schema", "program 1 argument"]


@pytest.mark.parametrize("options", ["{}", "{'a': 'b'}"])
def test_networks_are_restored_before_the_program_counts_as_started(tmp_path: Path, options: str) -> None:
    out = start(tmp_path, options, "--restore")
    restored = [line for line in out if line.startswith("restored")]
    assert bool(restored) == (options != "{}")
    assert all(line.endswith(" sh argument not yet") for line in restored)
    assert out[-1].startswith("program ")
