"""Scripts of pods that find out what their node is like, each with files and programs in the place of the node's."""

from __future__ import annotations

import os
import re
import subprocess
import sys
from pathlib import Path

import pytest

from support.paths import ROOT

CHARTS = ROOT / "charts"
# /proc/net/tcp: 6080 (17C0) listens, 5672 (1628) has a connection from here, 8774 (2246) has a closed one, and
# 54323 (D433) is closed.
SOCKETS = """\
  sl  local_address rem_address   st tx_queue rx_queue tr tm->when retrnsmt   uid  timeout inode
   0: 00000000:17C0 00000000:0000 0A 00000000:00000000 00:00000000 00000000     0        0 101 1
   1: 0A00000A:D431 0B00000A:1628 01 00000000:00000000 00:00000000 00000000     0        0 102 1
   2: 0A00000A:D432 0B00000A:2246 06 00000000:00000000 00:00000000 00000000     0        0 103 1
   3: 00000000:D433 00000000:0000 07 00000000:00000000 00:00000000 00000000     0        0 104 1
"""

PLACES = re.compile("/host/cgroup|/run/|/proc/net|/etc/|/tmp/|/dev/termination-log|/var/lib|/usr/sbin")


def run(chart: str, name: str, folder: Path, *words: str, **env: str) -> subprocess.CompletedProcess[str]:
    """With the files of the node, or of the pod, below a folder."""
    text = (CHARTS / chart / "bin" / name).read_text()
    text = text.replace(". /opt/stackwright/migration.sh", "migration_address() { echo 192.0.2.9; }")
    text = PLACES.sub(lambda place: f"{folder}{place[0]}", text)
    script = folder / name
    script.write_text(text)
    script.chmod(0o755)
    places = {"PATH": f"{folder}:{os.environ['PATH']}", "NODE_NAME": "node1"}
    return subprocess.run(
        ["bash", str(script), *words], env={**places, **env}, capture_output=True, text=True, timeout=30
    )


FAKE = """\
import logging
class InvalidConfiguration(Exception): pass
from oslo_log import log
def main():
    log.setup(None, "nova")
    try:
        raise {}
    except Exception:
        logging.getLogger("oslo_service.backend.eventlet.service").exception("Error starting thread.")
"""


@pytest.mark.parametrize(
    ("error", "cause"),
    [
        (
            "InvalidConfiguration('My hypervisor has existing instances, but I appear to be a new service')",
            "This node has virtual machines of a former cloud. End each of them in this node's pod libvirt: "
            "virsh list --all; virsh destroy NAME; virsh undefine NAME",
        ),
        ("InvalidConfiguration('Possible rename detected')", "Possible rename detected"),
        ("ValueError('amqp://nova:secret@host')", ""),
    ],
)
def test_nova_compute_leaves_the_cause_where_kubernetes_shows_it(tmp_path: Path, error: str, cause: str) -> None:
    (tmp_path / "nova/cmd").mkdir(parents=True)
    (tmp_path / "nova/cmd/compute.py").write_text(FAKE.format(error))
    (tmp_path / "oslo_log").mkdir()
    (tmp_path / "oslo_log/__init__.py").touch()
    (tmp_path / "oslo_log/log.py").write_text("def setup(conf, name): pass")
    (tmp_path / "dev").mkdir()
    script = tmp_path / "compute.py"
    script.write_text(PLACES.sub(lambda place: f"{tmp_path}{place[0]}", (CHARTS / "nova/bin/compute.py").read_text()))
    subprocess.run([sys.executable, "-P", script], env={"PYTHONPATH": str(tmp_path)}, check=True, timeout=30)
    log = tmp_path / "dev/termination-log"
    told = log.read_text() if log.exists() else ""
    assert told == cause and len(told) <= 200, "status shows so much"


@pytest.mark.parametrize(
    ("port", "listens"), [("6080", True), ("5672", False), ("8774", False), ("54323", False)], ids=str
)
@pytest.mark.parametrize("file", ["tcp", "tcp6"])
def test_a_port_listens_by_the_kernels_table(tmp_path: Path, file: str, port: str, listens: bool) -> None:
    (tmp_path / "proc/net").mkdir(parents=True)
    for name in ("tcp", "tcp6"):
        (tmp_path / "proc/net" / name).write_text(SOCKETS if name == file else SOCKETS.splitlines()[0] + "\n")
    assert (run("nova", "listens.sh", tmp_path, port).returncode == 0) is listens
    assert (run("rabbitmq", "ready.sh", tmp_path, AMQP_PORT=port).returncode == 0) is listens


@pytest.mark.parametrize(
    ("port", "inode", "connected"),
    [("5672", 102, True), ("5672", 999, False), ("8774", 103, False), ("6080", 101, False)],
)
def test_a_process_of_this_container_is_connected(tmp_path: Path, port: str, inode: int, connected: bool) -> None:
    """A connection of another pod in the node's network is in the same table."""
    (tmp_path / "proc/net").mkdir(parents=True)
    for name in ("tcp", "tcp6"):
        (tmp_path / "proc/net" / name).write_text(SOCKETS)
    (tmp_path / "ls").write_text(f"#!/bin/sh\necho 'lrwx------ 1 root root 64 3 -> socket:[{inode}]'\n")
    (tmp_path / "ls").chmod(0o755)
    assert (run("lib", "connected.sh", tmp_path, port).returncode == 0) is connected


@pytest.mark.parametrize("groups", [["host/cgroup"], ["host/cgroup/memory", "host/cgroup/pids"]])
def test_a_process_that_outlives_an_agent_leaves_its_control_group_first(tmp_path: Path, groups: list[str]) -> None:
    """Version 1 has a tree per controller."""
    files = [tmp_path / group / "openstack-vms/node1/cgroup.procs" for group in groups]
    for file in files:
        file.parent.mkdir(parents=True)
        file.touch()
    program = tmp_path / "usr/sbin/outlive.sh"
    program.parent.mkdir(parents=True)
    program.write_text('#!/bin/sh\necho "$$ $*"\n')
    program.chmod(0o755)
    process, words = run("neutron", "outlive.sh", tmp_path, "-C", "conf").stdout.split(maxsplit=1)
    assert words == "-C conf\n"
    assert [file.read_text().strip() for file in files] == [process] * len(files)


AGENT = ("neutron-agent", "--config-file", "a.conf")


def agent(folder: Path, switch: str, *files: str) -> subprocess.CompletedProcess[str]:
    (folder / "neutron-agent").write_text('#!/bin/sh\necho "$0 $*"\n')
    (folder / "neutron-agent").chmod(0o755)
    (folder / "python3").write_text("#!/bin/sh\n")
    (folder / "python3").chmod(0o755)
    (folder / "tmp").mkdir()
    (folder / "dev").mkdir()
    here = folder / "run/openvswitch"
    here.mkdir(parents=True)
    for name in files:
        (here / name).write_text({"datapath": "netdev", "tunnel-address": "10.9.0.1"}[name])
    subprocess.run(
        ["python3", "-c", f"import socket; socket.socket(socket.AF_UNIX).bind('{here}/db.sock')"], check=True
    )
    return run("neutron", "agent.sh", folder, *AGENT, SWITCH=switch, PATIENCE="1")


def test_an_agent_gets_the_options_of_its_node(tmp_path: Path) -> None:
    done = agent(tmp_path, "yes", "datapath", "tunnel-address")
    assert done.stdout == f"{tmp_path}/neutron-agent {' '.join(AGENT[1:])} --config-dir {tmp_path}/tmp/node.d\n"
    text = (tmp_path / "tmp/node.d/node.conf").read_text()
    assert text == "[DEFAULT]\nhost = node1\n[ovs]\nlocal_ip = 10.9.0.1\ndatapath_type = netdev\n"


def test_an_agent_waits_for_all_facts_of_the_switch(tmp_path: Path) -> None:
    done = agent(tmp_path, "yes", "datapath")
    assert done.returncode == 1
    assert "Open vSwitch on node node1 is not ready after 1 s" in done.stderr
    assert "neutron-agent" not in done.stdout


def test_an_agent_without_a_switch_has_the_name_of_its_node_alone(tmp_path: Path) -> None:
    done = agent(tmp_path, "")
    assert done.returncode == 0
    assert (tmp_path / "tmp/node.d/node.conf").read_text() == "[DEFAULT]\nhost = node1\n"


@pytest.mark.parametrize(
    ("found", "asked", "lines"),
    [
        ("kvm", "", ["cpu_mode = host-model"]),
        ("qemu", "", ["cpu_mode = none"]),
        ("kvm", "host-passthrough", ["cpu_mode = host-passthrough"]),
        ("qemu", "Haswell", ["cpu_mode = custom", "cpu_models = Haswell"]),
    ],
)
def test_a_compute_node_has_the_processor_that_it_can_have(
    tmp_path: Path, found: str, asked: str, lines: list[str]
) -> None:
    boot = Path("/proc/sys/kernel/random/boot_id").read_text().strip()
    for place in ("run/libvirt", "proc/net", "etc/nova/node.d", "etc/nova-ssh", "var/lib"):
        (tmp_path / place).mkdir(parents=True)
    told = f'{{"boot": "{boot}", "virt_type": "{found}", "reason": ""}}'
    (tmp_path / "run/libvirt/stackwright-hypervisor.json").write_text(told)
    socket = "ffff: 00000002 00000000 00010000 0001 01 7 /run/libvirt/libvirt-sock\n"
    (tmp_path / "proc/net/unix").write_text(socket)
    (tmp_path / "etc/nova-ssh/ssh.pub").write_text("ssh-ed25519 A\n")
    done = run("nova", "compute-init.sh", tmp_path, ADDRESS="10.0.0.1", VCPU_TYPE=asked, INTERFACE="")
    assert done.returncode == 0, done.stderr
    text = (tmp_path / "etc/nova/node.d/node.conf").read_text()
    assert [line for line in text.splitlines() if line.startswith("cpu_")] == lines
    for line in (f"virt_type = {found}", "host = node1", "my_ip = 10.0.0.1", "live_migration_inbound_addr = 192.0.2.9"):
        assert line in text.splitlines()
    assert (tmp_path / "etc/nova/node.d/known_hosts").read_text() == "[*]:8022 ssh-ed25519 A\n"
