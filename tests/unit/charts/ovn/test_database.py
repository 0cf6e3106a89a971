"""The start of a database of OVN: a new one, an existing one, and one of an earlier schema."""

from __future__ import annotations

import os
import re
import subprocess
from pathlib import Path

import pytest

from support.paths import ROOT

BIN = ROOT / "charts/ovn/bin"
CONF = '{"remotes": {"ptcp:6641:0.0.0.0": {}}}'
# Stand-in for ovsdb-server, which opens its configuration for reading and writing.
SERVER = """#!/bin/bash
echo "server $*" >>"$WORLD/asked"
[[ $1 =~ ^--config-file=(.*)$ ]] && exec 3<>"${BASH_REMATCH[1]}"
"""
TOOL = """#!/bin/bash
echo "tool $1" >>"$WORLD/asked"
case $1 in
    create) [[ ! -e $WORLD/full ]] && touch "$2" ;;
    needs-conversion) cat "$WORLD/needs" ;;
esac
"""


@pytest.fixture
def world(tmp_path: Path) -> Path:
    for name, text in {"ovsdb-server": SERVER, "ovsdb-tool": TOOL}.items():
        (tmp_path / name).write_text(text)
        (tmp_path / name).chmod(0o755)
    for name in ("etc", "data", "tmp"):
        (tmp_path / name).mkdir()
    (tmp_path / "needs").write_text("no\n")
    (tmp_path / "etc/nb.json").write_text(CONF)
    (tmp_path / "etc/nb.json").chmod(0o444)
    return tmp_path


def start(world: Path) -> tuple[int, list[str]]:
    """The exit code, and the calls of programs."""
    text = (BIN / "database.sh").read_text().replace(". /opt/stackwright/lib.sh", (BIN / "lib.sh").read_text())
    places = {"/etc/ovn": "etc", "/var/lib/ovn": "data", "/dev/termination-log": "why", "/tmp": "tmp"}
    text = re.sub("|".join(places), lambda found: f"{world}/{places[found[0]]}", text)
    env = {"PATH": f"{world}:{os.environ['PATH']}", "WORLD": str(world)}
    done = subprocess.run(["bash", "-c", text, "database.sh", "nb"], env=env, capture_output=True, timeout=20)
    return done.returncode, (world / "asked").read_text().splitlines()


def test_server_gets_a_configuration_that_it_may_write(world: Path) -> None:
    code, asked = start(world)
    assert code == 0
    assert asked[0] == "tool create"
    assert asked[1].startswith(f"server --config-file={world}/tmp/nb.json ")
    assert (world / "tmp/nb.json").read_text() == CONF
    assert (world / "tmp/nb.json").stat().st_mode & 0o200


def test_existing_database_is_kept(world: Path) -> None:
    (world / "data/ovnnb_db.db").write_text("data")
    assert start(world)[1][0] == "tool needs-conversion"
    assert (world / "data/ovnnb_db.db").read_text() == "data"


def test_database_of_an_earlier_version_is_converted(world: Path) -> None:
    (world / "data/ovnnb_db.db").write_text("data")
    (world / "needs").write_text("yes\n")
    assert start(world)[1][:2] == ["tool needs-conversion", "tool convert"]


def test_failure_is_named(world: Path) -> None:
    (world / "full").touch()
    code, asked = start(world)
    assert code == 1
    assert asked == ["tool create"]
    assert (world / "why").read_text() == f"cannot make the database {world}/data/ovnnb_db.db"
