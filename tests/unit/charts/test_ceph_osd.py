"""A new OSD removes its predecessor whose volume is lost; otherwise the OSD keeps its weight."""

from __future__ import annotations

import os
import subprocess
from pathlib import Path

import pytest

from support.paths import ROOT

BIN = ROOT / "charts/ceph/bin"
# Stand-ins for programs. The monitors know the OSDs in `tree`, if it exists; `deaf` has the exit code of a ceph that
# fails.
PROGRAMS = {
    "ceph": """shift 2
[[ ! -e $WORLD/deaf ]] || exit $(cat "$WORLD/deaf")
echo "$*" >>"$WORLD/did"
case "$*" in
    "osd ls-tree osd-0") [[ -e $WORLD/tree ]] || exit 2; cat "$WORLD/tree" ;;
    "osd purge "*) [[ ! -e $WORLD/refuses ]] ;;
    "osd new "*) echo 5 ;;
esac""",
    "ceph-osd": "true",
    "python3": "echo a-key",
}


class World:
    """The pod osd-0 with an empty volume."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder
        for name, text in PROGRAMS.items():
            (folder / name).write_text(f"#!/bin/bash\n{text}\n")
            (folder / name).chmod(0o755)
        for place in ("volume", "run"):
            (folder / place).mkdir()

    def write(self, **files: str) -> None:
        for name, text in files.items():
            (self.folder / name).write_text(text)

    def starts(self) -> bool:
        """Whether the OSD has a store after it was tried once."""
        text = (BIN / "osd.sh").read_text().rstrip()
        assert text.endswith("\nsupervise")
        text = text.removesuffix("supervise").replace(". /opt/stackwright/lib.sh", (BIN / "lib.sh").read_text())
        for there, here in {"/var/lib/ceph": "volume", "/run/ceph": "run"}.items():
            text = text.replace(there, str(self.folder / here))
        places = {"PATH": f"{self.folder}:{os.environ['PATH']}", "WORLD": str(self.folder)}
        env = {**places, "POD_NAME": "osd-0", "OSD_SIZE": "1Gi"}
        script = ["bash", "-c", f"{text}\nmake_store"]
        done = subprocess.run(script, env=env, capture_output=True, text=True, timeout=30)
        assert (done.returncode == 0) is (self.folder / "volume/osd").exists(), done.stderr
        return done.returncode == 0

    def did(self) -> list[str]:
        lines = (self.folder / "did").read_text().splitlines() if (self.folder / "did").exists() else []
        return [" ".join(line.split()[1:3]) for line in lines if not line.startswith("osd new")]


@pytest.fixture
def world(tmp_path: Path) -> World:
    return World(tmp_path)


def test_the_first_osd_of_a_pod_replaces_no_other(world: World) -> None:
    assert world.starts()
    assert world.did() == ["ls-tree osd-0"]


def test_an_osd_with_a_lost_volume_is_removed_before_the_new_one_is_created(world: World) -> None:
    world.write(tree="0\n3\n")
    assert world.starts()
    assert world.did() == ["ls-tree osd-0", "purge 0", "purge 3"]


@pytest.mark.parametrize("code", [1, 124])
def test_a_query_without_a_response_of_the_monitors_is_repeated(world: World, code: int) -> None:
    world.write(tree="0\n", deaf=str(code))
    assert not world.starts()
    (world.folder / "deaf").unlink()
    assert world.starts()
    assert world.did() == ["ls-tree osd-0", "purge 0"]


def test_a_failed_removal_of_an_osd_is_retried(world: World) -> None:
    world.write(tree="0\n", refuses="")
    assert not world.starts()
    (world.folder / "refuses").unlink()
    assert world.starts()
    assert world.did() == ["ls-tree osd-0", "purge 0"] * 2
