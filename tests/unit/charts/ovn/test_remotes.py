"""The addresses to which OVN's programs connect, also after a Service was created again."""

from __future__ import annotations

import os
import re
import signal
import socket
import subprocess
import time
from collections.abc import Callable, Iterator
from contextlib import suppress
from pathlib import Path

import pytest

from support.paths import ROOT

BIN = ROOT / "charts/ovn/bin"
LIBRARY = BIN / "lib.sh"
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


# Stands in for the programs: it writes its process id and arguments, and runs.
PROGRAM = """#!/bin/bash
echo "$$ $*" >"$WORLD/ran"
exec /bin/sleep 60
"""
REMOTES = "ssl:a-0.ns.svc:6642,ssl:a-1.ns.svc:6642"


@pytest.fixture(params=["northd", "controller"])
def program(request: pytest.FixtureRequest, world: Path) -> Iterator[subprocess.Popen[str]]:
    """A script, and the program that it becomes; it resolves the names again every 0.2 s."""
    for name in ("lib", request.param):
        text = (BIN / f"{name}.sh").read_text().replace("/dev/termination-log", str(world / "why"))
        text = re.sub("/opt/stackwright|/etc/ovn|/run/openvswitch|/run/ovn", str(world), text)
        (world / f"{name}.sh").write_text(text)
    for name, text in ((f"ovn-{request.param}", PROGRAM), ("ovs-vsctl", "#!/bin/bash\n")):
        (world / name).write_text(text)
        (world / name).chmod(0o755)
    (world / "controller.conf").write_text("BRIDGE_MAPPINGS= GATEWAYS=\n")
    for name, text in (("datapath", "netdev"), ("tunnel-address", "10.0.0.1")):
        (world / name).write_text(text)
    names = {"NORTHBOUND": REMOTES.replace("6642", "6641"), "SOUTHBOUND": REMOTES, "NODE_NAME": "n", "EVERY": "0.2"}
    environment = {**os.environ, **names, "PATH": f"{world}:{os.environ['PATH']}", "WORLD": str(world)}
    with socket.socket(socket.AF_UNIX) as database:
        database.bind(str(world / "db.sock"))
        command = ["bash", str(world / f"{request.param}.sh")]
        with subprocess.Popen(command, env=environment, stdout=subprocess.PIPE, text=True, process_group=0) as running:
            eventually((world / "ran").exists)
            yield running
            with suppress(ProcessLookupError):
                os.killpg(running.pid, signal.SIGKILL)


def eventually(holds: Callable[[], object]) -> None:
    until = time.monotonic() + 10
    while not holds():
        assert time.monotonic() < until
        time.sleep(0.05)


def test_a_program_ends_when_a_service_has_another_address(world: Path, program: subprocess.Popen[str]) -> None:
    """Its container restarts, with the new address."""
    (world / "known").write_text("10.96.0.7 STREAM a-0.ns.svc\n10.96.0.9 STREAM a-1.ns.svc\n")
    assert program.wait(10) == -signal.SIGTERM
    assert (world / "ran").read_text().startswith(f"{program.pid} "), "the program itself"
    os.killpg(program.pid, signal.SIGKILL)
    said = program.stdout.read() if program.stdout else ""
    assert "ssl:10.96.0.9:6642" in said


def test_a_program_continues_while_a_name_does_not_resolve(world: Path, program: subprocess.Popen[str]) -> None:
    """The DNS of the cluster may be away."""
    (world / "known").write_text("10.96.0.7 STREAM a-0.ns.svc\n")
    with pytest.raises(subprocess.TimeoutExpired):
        program.wait(1.5)
