"""Imports of uWSGI's master before the fork: none may leave anything open."""

import subprocess
import sys
from pathlib import Path

import pytest

from support.paths import ROOT

PRELOAD = ROOT / "charts/lib/bin/preload.py"

UWSGI = """
opt = {"preload": b"first second"}
"""
AFTER = f"""
import gc, runpy, sys
runpy.run_path({str(PRELOAD)!r})
print(gc.isenabled(), gc.get_freeze_count() > 0, {{"first", "second"}} <= sys.modules.keys())
"""


def preloaded(folder: Path, second: str) -> subprocess.CompletedProcess[str]:
    (folder / "uwsgi.py").write_text(UWSGI)
    (folder / "first.py").write_text("kept = [object()]\n")
    (folder / "second.py").write_text(second)
    return subprocess.run(
        [sys.executable, "-c", AFTER], capture_output=True, text=True, timeout=15, cwd=folder, env={"PYTHONPATH": "."}
    )


def test_modules_are_imported_and_excluded_from_garbage_collection(tmp_path: Path) -> None:
    done = preloaded(tmp_path, "")
    assert (done.returncode, done.stdout.split(), done.stderr) == (0, ["True", "True", "True"], "")


@pytest.mark.parametrize(
    ("module", "told"),
    [
        ("import socket\nopened = socket.socket()\n", "socket:["),
        ("import select\nopened = select.epoll()\n", "eventpoll"),
        ("opened = open('first.py')\n", "first.py"),
        ("import threading\nthreading.Thread(target=threading.Event().wait, daemon=True).start()\n", "thread"),
        ("import no_such_module\n", "No module named 'no_such_module'"),
    ],
)
def test_resources_that_workers_must_not_share_end_uwsgi(tmp_path: Path, module: str, told: str) -> None:
    done = preloaded(tmp_path, module)
    assert done.returncode == 1
    assert told in done.stderr
    assert done.stdout == ""
