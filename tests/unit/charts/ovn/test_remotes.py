"""The addresses to which OVN's programs connect."""

from __future__ import annotations

import os
import subprocess
from pathlib import Path

import pytest

from support.paths import ROOT

LIBRARY = ROOT / "charts/ovn/bin/lib.sh"
# Resolves the names in the file `known`, and fails once for each name in `later`.
GETENT = """#!/bin/bash
[[ $1 == ahostsv4 ]] || exit 2
if grep -qx "$2" "$WORLD/later"; then sed -i "/^$2$/d" "$WORLD/later"; exit 2; fi
grep "^[0-9.]* *STREAM $2$" "$WORLD/known" || exit 2
grep "^[0-9.]* *STREAM $2$" "$WORLD/known" | sed s/STREAM/DGRAM/
"""


@pytest.fixture
def world(tmp_path: Path) -> Path:
    (tmp_path / "getent").write_text(GETENT)
    (tmp_path / "getent").chmod(0o755)
    (tmp_path / "known").write_text("10.96.0.7      STREAM a-0.ns.svc\n10.96.0.8      STREAM a-1.ns.svc\n")
    (tmp_path / "later").touch()
    return tmp_path


def by_address(world: Path, remotes: str, patience: int) -> subprocess.CompletedProcess[str]:
    script = LIBRARY.read_text().replace("/dev/termination-log", str(world / "why"))
    environment = {
        **os.environ,
        "PATH": f"{world}:{os.environ['PATH']}",
        "WORLD": str(world),
        "PATIENCE": str(patience),
    }
    command = ["bash", "-uc", f"{script}\nby_address '{remotes}'"]
    return subprocess.run(command, env=environment, capture_output=True, text=True, timeout=20)


def test_remotes_have_the_addresses_of_their_services(world: Path) -> None:
    """A program that resolves a name fails meanwhile, and its next attempt comes after the result has expired."""
    (world / "later").write_text("a-1.ns.svc\n")
    done = by_address(world, "ssl:a-0.ns.svc:6642,ssl:a-1.ns.svc:6642", patience=15)
    assert (done.returncode, done.stdout) == (0, "ssl:10.96.0.7:6642,ssl:10.96.0.8:6642\n")


def test_a_name_that_does_not_resolve_is_reported(world: Path) -> None:
    done = by_address(world, "ssl:a-0.ns.svc:6642,ssl:a-2.ns.svc:6642", patience=1)
    assert (done.returncode, done.stdout) == (1, "")
    assert (world / "why").read_text() == "the name a-2.ns.svc cannot be resolved"
