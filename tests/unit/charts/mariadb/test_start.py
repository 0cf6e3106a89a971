"""What start.sh does when its pod is to end, with programs in place of MariaDB's."""

from __future__ import annotations

import os
import signal
import subprocess
import time
from pathlib import Path

from support.paths import ROOT

BIN = ROOT / "charts/mariadb/bin"
# A SIGTERM before it responds is lost, as in version 11.8 with Galera.
MARIADBD = """#!/bin/bash
[[ " $* " != *" --bootstrap "* ]] || { cat >/dev/null; exit; }
trap 'echo early >>"$WORLD/told"' TERM
: >"$WORLD/begun"
until [[ -e $WORLD/answers ]]; do sleep 0.05; done
trap 'echo late >>"$WORLD/told"; exit 0' TERM
: >"$WORLD/responds"
while :; do sleep 0.05; done
"""
INSTALL = """#!/bin/bash
for word; do [[ $word != --datadir=* ]] || mkdir -p "${word#*=}"; done
"""
CLIENT = """#!/bin/bash
[[ -e $WORLD/responds ]] && printf 'wsrep_ready\\tON\\n'
"""


NOTED = "    mariadbd_pid=$!\n"


def started(
    tmp_path: Path, patience: int = 2, *, before_pid_is_noted: str = "", left: tuple[str, ...] = ()
) -> subprocess.Popen[bytes]:
    """`patience`: seconds that a mariadbd that starts has for an answer. `left`: files of the container before."""
    programs = {"mariadbd": MARIADBD, "mariadb-install-db": INSTALL, "mariadb": CLIENT, "socat": "#!/bin/sh\nsleep 9\n"}
    for name, text in programs.items():
        (tmp_path / name).write_text(text)
        (tmp_path / name).chmod(0o755)
    (tmp_path / "run").mkdir()
    for name in left:
        (tmp_path / "run" / name).touch()
    for name in ("username", "password"):
        (tmp_path / name).write_text(name)
    text = (BIN / "start.sh").read_text().replace(". /opt/stackwright/lib.sh", (BIN / "lib.sh").read_text())
    text = text.replace(". /opt/stackwright/decide.sh", (BIN / "decide.sh").read_text())
    for there, here in {"/var/lib/mysql": "volume", "/run/mysqld": "run", "/run/secrets/mariadb-root": "."}.items():
        text = text.replace(there, str(tmp_path / here))
    (tmp_path / "volume").mkdir()
    env = {"PATH": f"{tmp_path}:{os.environ['PATH']}", "WORLD": str(tmp_path), "POD_NAME": "server-0", "POD_IP": "::1"}
    env |= {"CLUSTER_SIZE": "1", "CLUSTER_DOMAIN": "x", "STATE_PORT": "1"}
    assert text.count(NOTED) == 1
    script = text.replace("STARTING=30", f"STARTING={patience}").replace(NOTED, f"    {before_pid_is_noted}\n{NOTED}")
    with (tmp_path / "said").open("w") as said:
        return subprocess.Popen(["bash", "-c", script], env=env, stderr=said, start_new_session=True)


def told(server: subprocess.Popen[bytes], world: Path, *, answers: bool) -> tuple[str, str]:
    """The signals to mariadbd when the pod ended during its start, and the output of the script."""
    try:
        while not (world / "begun").exists():
            time.sleep(0.02)
        server.send_signal(signal.SIGTERM)
        time.sleep(0.2)
        if answers:
            (world / "answers").touch()
        server.wait(timeout=300)
    finally:
        os.killpg(server.pid, signal.SIGKILL)
    return (world / "told").read_text() if (world / "told").exists() else "", (world / "said").read_text()


def test_a_starting_server_is_stopped_when_it_responds(tmp_path: Path) -> None:
    server = started(tmp_path, patience=300)
    text, said = told(server, tmp_path, answers=True)
    assert text == "late\n", said
    assert server.returncode == 0


def test_a_server_whose_last_container_served_is_stopped_when_it_responds(tmp_path: Path) -> None:
    """Memory ran out, and only the container was started again."""
    server = started(tmp_path, patience=300, left=("served",))
    text, said = told(server, tmp_path, answers=True)
    assert text == "late\n", said
    assert server.returncode == 0


def test_a_server_that_never_responds_is_killed(tmp_path: Path) -> None:
    server = started(tmp_path)
    text, said = told(server, tmp_path, answers=False)
    assert "has not begun to answer: killed" in said
    assert text == ""
    assert server.returncode == 0


def test_a_signal_just_as_mariadbd_was_started_ends_mariadbd(tmp_path: Path) -> None:
    server = started(tmp_path, before_pid_is_noted="kill -TERM $$")
    try:
        server.wait(timeout=300)
        said = (tmp_path / "said").read_text()
        assert "has not begun to answer: killed" in said
        assert "mariadbd ended with 137" in said
    finally:
        os.killpg(server.pid, signal.SIGKILL)
