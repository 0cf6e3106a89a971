"""The console output of a virtual machine cannot fill a disk, and its end is readable."""

from __future__ import annotations

import os
import subprocess
import time
from collections.abc import Iterator
from pathlib import Path

import pytest

from support.paths import ROOT

SCRIPT = ROOT / "charts/libvirt/bin/logs.sh"
MIB = 1 << 20
CONSOLE, LOG = "var/lib/nova/instances/4fd2/console.log", "var/log/libvirt/qemu/instance-1.log"


@pytest.fixture
def node(tmp_path: Path) -> Iterator[Path]:
    for file in (CONSOLE, LOG, "etc/libvirt/qemu/instance-1.xml", "run/libvirt/qemu/instance-2.pid"):
        (tmp_path / file).parent.mkdir(parents=True, exist_ok=True)
        (tmp_path / file).touch()
    yield tmp_path


def run(node: Path, function: str, programs: str = "") -> None:
    text = SCRIPT.read_text()
    for place in ("/var/", "/etc/", "/run/"):
        text = text.replace(f" {place}", f" {node}{place}")
    subprocess.run(
        ["bash", "-euc", f"{text}\n{function}"],
        env={"PATH": f"{programs}:{os.environ['PATH']}"},
        check=True,
        timeout=30,
    )


def on_disk(file: Path) -> int:
    return file.stat().st_blocks * 512


@pytest.mark.parametrize("append", [os.O_APPEND, 0], ids=["appends", "knows where it is"])
@pytest.mark.parametrize("name", [CONSOLE, LOG])
def test_a_log_that_a_machine_fills_keeps_its_end_only(node: Path, name: str, append: int) -> None:
    file = node / name
    machine = os.open(file, os.O_WRONLY | append)
    try:
        for count in range(4):
            os.write(machine, b"x" * 3 * MIB)
            os.write(machine, b"line %d\n" % count)
            run(node, "bound_logs")
            assert on_disk(file) <= 2 * MIB
            assert file.read_bytes().endswith(b"x" * 1000 + b"line %d\n" % count), "as Nova reads it"
        os.write(machine, b"next")
        assert file.read_bytes().endswith(b"xxline 3\nnext")
    finally:
        os.close(machine)


def test_a_log_is_bounded_on_file_systems_without_holes(node: Path) -> None:
    (node / "fallocate").write_text("#!/bin/sh\nexit 1\n")
    (node / "fallocate").chmod(0o755)
    (node / CONSOLE).write_bytes(b"x" * 3 * MIB)
    run(node, "bound_logs", str(node))
    assert on_disk(node / CONSOLE) == 0


def test_short_logs_and_other_files_are_unchanged(node: Path) -> None:
    disk = node / "var/lib/nova/instances/4fd2/disk"
    (node / CONSOLE).write_bytes(b"y" * MIB)
    disk.write_bytes(b"z" * 3 * MIB)
    link = node / "var/lib/nova/instances/other/console.log"
    link.parent.mkdir()
    link.symlink_to(disk)
    run(node, "bound_logs")
    assert (node / CONSOLE).read_bytes() == b"y" * MIB
    assert disk.read_bytes() == b"z" * 3 * MIB


def test_logs_of_machines_that_left_long_ago_are_deleted(node: Path) -> None:
    folder = (node / LOG).parent
    for name, days in {"instance-1": 30, "instance-2": 30, "instance-3": 30, "instance-4": 1}.items():
        (folder / f"{name}.log").touch()
        os.utime(folder / f"{name}.log", (time.time() - days * 86400,) * 2)
    run(node, "forget_logs")
    assert {file.stem for file in folder.iterdir()} == {"instance-1", "instance-2", "instance-4"}, "1 exists, 2 runs"


def test_libvirt_starts_with_the_bound() -> None:
    start = (SCRIPT.parent / "start.sh").read_text()
    assert ". /opt/stackwright/logs.sh\n" in start
    assert start.index("\nfollow_logs &") < start.index("exec libvirtd")
