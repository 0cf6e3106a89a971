"""QEMU has a user and a /dev of its own, and leaves the control groups of libvirt's pod all the same."""

from __future__ import annotations

import getpass
import os
import subprocess
import time
from collections.abc import Iterator
from pathlib import Path

import pytest
import yaml

from support.paths import ROOT

CHART = ROOT / "charts/libvirt"
NODE = "node1"
HIERARCHIES = {"version 2": [""], "version 1": ["memory", "cpuset"]}


def test_a_virtual_machine_is_not_root_and_sees_its_own_devices_only() -> None:
    qemu = yaml.safe_load((CHART / "values.yaml").read_text())["conf"]["qemu"]
    assert "root" not in (qemu["user"], qemu["group"])
    assert qemu["namespaces"] == ["mount"]
    assert qemu["seccomp_sandbox"] == 1
    assert qemu["clear_emulator_capabilities"] is True
    # Nova writes disks as root; without this QEMU could open none of them.
    assert qemu["dynamic_ownership"] is True
    # With a control group by libvirt a virtual machine would end with the pod.
    assert qemu["cgroup_controllers"] == []


@pytest.fixture(params=HIERARCHIES.values(), ids=HIERARCHIES)
def node(request: pytest.FixtureRequest, tmp_path: Path) -> Iterator[Path]:
    """A node's folders: run, cgroup, and the chart's scripts, which know them."""
    (tmp_path / "run").mkdir()
    for hierarchy in request.param:
        group = tmp_path / "cgroup" / hierarchy
        group.mkdir(parents=True)
        (group / "cgroup.procs").write_text("")
        for name in ("cpuset.cpus", "cpuset.mems") if "cpuset" in hierarchy else ():
            (group / name).write_text("0-1")
            below = group / "openstack-vms" / NODE
            below.mkdir(parents=True, exist_ok=True)
            for folder in (below, below.parent):
                (folder / name).write_text("")
    (tmp_path / "qemu").write_text("#!/bin/sh\necho started $$ >&2\nsleep 0.3\n")
    (tmp_path / "qemu").chmod(0o755)
    for name in ("groups.sh", "qemu-system-x86_64"):
        text = (CHART / "bin" / name).read_text()
        for path, here in (
            ("/run/libvirt", "run"),
            ("/host/cgroup", "cgroup"),
            ("/usr/bin/qemu-system-x86_64", "qemu"),
        ):
            text = text.replace(path, str(tmp_path / here))
        (tmp_path / name).write_text(text.replace("le 200", "le 20"))
        (tmp_path / name).chmod(0o755)
    yield tmp_path


def pod(node: Path, user: str) -> subprocess.Popen[bytes]:
    """What start.sh does, with libvirtd's end of the door."""
    script = f". {node}/groups.sh; make_groups; open_door; let_machines_out"
    for group in (node / "cgroup").rglob(NODE):
        (group / "cgroup.procs").touch()
    group_name = subprocess.check_output(["id", "-gn"], text=True).strip()
    environment = {**os.environ, "NODE_NAME": NODE, "QEMU_USER": user, "QEMU_GROUP": group_name}
    started = subprocess.Popen(["bash", "-euc", script], env=environment, stderr=subprocess.DEVNULL)
    while not (node / "run/stackwright-door").exists():
        time.sleep(0.01)
    # The kernel creates this file in each group.
    for group in [*(node / "cgroup").rglob(NODE)]:
        (group / "cgroup.procs").touch()
    return started


def machine(node: Path, *arguments: str) -> subprocess.CompletedProcess[str]:
    return subprocess.run(
        ["sh", str(node / "qemu-system-x86_64"), *arguments], capture_output=True, text=True, timeout=15
    )


def moved(node: Path) -> list[str]:
    return sorted(
        {line for group in (node / "cgroup").rglob(NODE) for line in (group / "cgroup.procs").read_text().split()}
    )


def test_a_virtual_machine_is_moved_out_of_the_pod_before_it_runs(node: Path) -> None:
    started = pod(node, getpass.getuser())
    try:
        done = machine(node, "-name", "guest=instance-1")
        assert done.returncode == 0, done.stderr
        (pid,) = moved(node)
        assert done.stderr.split() == ["started", pid]
        assert all((group / "cgroup.procs").read_text().split() == [pid] for group in (node / "cgroup").rglob(NODE))
    finally:
        started.kill()
        started.wait()


def test_a_virtual_machine_that_is_not_moved_does_not_start(node: Path) -> None:
    started = pod(node, "nobody-at-all")
    try:
        done = machine(node, "-name", "guest=instance-1")
        assert done.returncode == 1 and "moved" in done.stderr
        assert "started" not in done.stderr and moved(node) == []
    finally:
        started.kill()
        started.wait()


def test_a_query_of_qemus_capabilities_stays_in_the_pod(node: Path) -> None:
    assert "started" in machine(node, "-machine", "none").stderr


def test_disks_of_a_cold_migration_can_be_read_by_qemu(tmp_path: Path) -> None:
    """The sessions of the destination server create folders and files with this umask."""
    script = (CHART.parent / "nova/bin/sshd.sh").read_text()
    for path, here in (("/etc/nova-ssh", "keys"), ("/run/sshd", "run")):
        script = script.replace(path, str(tmp_path / here))
    (tmp_path / "keys").mkdir()
    for name in ("ssh", "ssh.pub"):
        (tmp_path / "keys" / name).write_text("key\n")
    (tmp_path / "sshd").write_text("#!/bin/sh\numask\n")
    (tmp_path / "sshd").chmod(0o755)
    script = script.replace("/usr/sbin/sshd", str(tmp_path / "sshd"))
    done = subprocess.run(
        ["bash", "-c", script], env={**os.environ, "ADDRESS": "192.0.2.1"}, capture_output=True, text=True, check=True
    )
    assert done.stdout.strip() == "0022"
    assert {path.stat().st_mode & 0o777 for path in (tmp_path / "run").iterdir()} == {0o600}
