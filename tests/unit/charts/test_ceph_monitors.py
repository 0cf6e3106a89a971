"""The monitor that creates the cluster: the first, after all others have reported that they have none."""

from __future__ import annotations

import os
import subprocess
from pathlib import Path

import pytest

from support.paths import ROOT

BIN = ROOT / "charts/ceph/bin"
# Stand-ins for programs: socat returns the state of a monitor, the others record their calls.
PROGRAMS = {
    "socat": """[[ "$*" == *LISTEN* ]] && exec sleep 9
[[ $* =~ TCP:10.0.0.([0-9]):3300, ]] && cat "$WORLD/says-${BASH_REMATCH[1]}" 2>/dev/null""",
    "monmaptool": 'echo "make ${*: -1}" >>"$WORLD/did"',
    "ceph-mon": 'echo "mkfs" >>"$WORLD/did"',
    "ceph": '[[ ! -e $WORLD/deaf ]] && echo "join" >>"$WORLD/did"',
}


def made(folder: Path, ordinal: int, *others: str | None, deaf: bool = False) -> list[str]:
    """The monitor's action without a store for these states of the others; None for a silent one."""
    for name, text in PROGRAMS.items():
        (folder / name).write_text(f"#!/bin/bash\n{text}\n")
        (folder / name).chmod(0o755)
    for place in ("volume", "run", "etc"):
        (folder / place).mkdir()
    numbers = [number for number in range(len(others) + 1) if number != ordinal]
    for number, said in zip(numbers, others, strict=True):
        if said:
            (folder / f"says-{number}").write_text(said)
    lines = [f"mon-{number} 10.0.0.{number}" for number in range(len(others) + 1)]
    (folder / "run/monitors").write_text("\n".join(lines) + "\n")
    (folder / "etc/ceph.conf").write_text("fsid = 1-2\n")
    if deaf:
        (folder / "deaf").touch()
    text = (BIN / "mon.sh").read_text().rstrip()
    assert text.endswith("\nsupervise")
    text = text.removesuffix("supervise").replace(". /opt/stackwright/lib.sh", (BIN / "lib.sh").read_text())
    for there, here in {"/var/lib/ceph": "volume", "/run/ceph": "run", "/etc/ceph": "etc"}.items():
        text = text.replace(there, str(folder / here))
    env = {
        "PATH": f"{folder}:{os.environ['PATH']}",
        "WORLD": str(folder),
        "POD_NAME": f"mon-{ordinal}",
        "POD_IP": "::1",
    }
    script = f"{text}\nmake_store; code=$?; hush; exit $code"
    done = subprocess.run(["bash", "-c", script], env=env, capture_output=True, text=True, timeout=30)
    did = (folder / "did").read_text().splitlines() if (folder / "did").exists() else []
    assert (done.returncode == 0) is bool(did), done.stderr
    assert (folder / "volume/mon").exists() is bool(did)
    return [line.split()[0] for line in did]


@pytest.mark.parametrize(
    ("ordinal", "others", "did"),
    [
        (0, (), ["make", "mkfs"]),
        (0, ("empty", "empty"), ["make", "mkfs"]),
        (0, ("empty", None), []),
        (0, (None, None), []),
        (0, ("empty", "ceph v027"), ["join", "mkfs"]),
        (1, ("empty", "empty"), []),
        (1, ("ceph v027", None), ["join", "mkfs"]),
    ],
)
def test_no_second_cluster_is_formed(
    tmp_path: Path, ordinal: int, others: tuple[str | None, ...], did: list[str]
) -> None:
    """A silent monitor may have the cluster."""
    assert made(tmp_path, ordinal, *others) == did


@pytest.mark.parametrize("ordinal", [0, 1])
def test_a_monitor_that_cannot_join_waits(tmp_path: Path, ordinal: int) -> None:
    """A monitor without a quorum does not respond; a new cluster next to it would be the second one."""
    assert made(tmp_path, ordinal, "ceph v027", "empty", deaf=True) == []
