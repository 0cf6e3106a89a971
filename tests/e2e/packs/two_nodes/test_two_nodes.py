"""Two compute nodes: virtual machines on both communicate over the tunnel, migrate, and are kept apart."""

from __future__ import annotations

from pathlib import Path

from harness import eventually
from two_nodes import BOOT_ID, host, migrate_live
from vms import Vm, Vms

RULE_LIMIT = 60
UPTIME = "cut -d ' ' -f 1 /proc/uptime"


def test_vms_on_both_nodes_talk_over_the_tunnel(vms: Vms, pair: tuple[Vm, Vm]) -> None:
    one, two = pair
    assert (host(vms, one), host(vms, two)) == ("node1", "node2")
    eventually(lambda: vms.sees(one, two) and vms.sees(two, one), limit=60, pause=1)
    wanted = vms.ssh(two, "hostname")
    assert (wanted, vms.ssh(one, "hostname")) == ("two", "one"), "each by its own floating IP"
    # Larger than a packet: an MTU that ignores the tunnel would lose large packets.
    assert vms.says(one, f"ping -c 2 -W 2 -s 1300 {two.fixed}")


def test_a_virtual_machine_is_not_root_of_its_node(pair: tuple[Vm, Vm]) -> None:
    for vm in pair:
        (process,) = (path for path in Path("/proc").glob("[0-9]*") if runs(path, f"-uuid {vm.id} "))
        assert process.stat().st_uid != 0
        status = dict(line.split(":\t", 1) for line in (process / "status").read_text().splitlines() if ":\t" in line)
        assert int(status["CapEff"], 16) == 0
        assert status["Seccomp"] == "2"
        assert not {"mem", "vda", "net"} & {device.name for device in (process / "root/dev").iterdir()}


def runs(process: Path, words: str) -> bool:
    try:
        return words in (process / "cmdline").read_bytes().replace(b"\0", b" ").decode(errors="replace")
    except OSError:  # the process has just ended
        return False


def test_metadata_user_data_and_config_drive_are_honoured(vms: Vms, pair: tuple[Vm, Vm]) -> None:
    one, two = map(vms.console, pair)
    assert "key from metadata" in one
    assert "user data of one" in one
    assert "user data ended with exit code 0" in one
    assert "key from config-drive" in two


def test_security_groups_drop_incoming_packets(vms: Vms, pair: tuple[Vm, Vm]) -> None:
    one, two = pair
    greets = f"(sleep 3) | nc -w 5 {two.fixed} 22 | grep -q SSH"
    vms.without(two.group, "ingress", "icmp")
    try:
        eventually(lambda: not vms.sees(one, two), limit=RULE_LIMIT)
        assert vms.says(one, greets), "only ping is closed"
    finally:
        vms.rule(two.group, protocol="icmp")
    eventually(lambda: vms.sees(one, two), limit=RULE_LIMIT)


def test_security_groups_drop_outgoing_packets(vms: Vms, pair: tuple[Vm, Vm]) -> None:
    one, two = pair
    vms.without(one.group, "egress", None)  # the default rule of a new group
    try:
        eventually(lambda: not vms.sees(one, two), limit=RULE_LIMIT)
        assert vms.sees(two, one), "answers to what may come in may go out"
    finally:
        vms.rule(one.group, "egress")
    eventually(lambda: vms.sees(one, two), limit=RULE_LIMIT)


def test_live_migration(vms: Vms, pair: tuple[Vm, Vm]) -> None:
    one, two = pair
    boot, uptime = vms.ssh(one, BOOT_ID), float(vms.ssh(one, UPTIME))
    migrate_live(vms, one, "node2")
    assert vms.ssh(one, BOOT_ID) == boot, "it was not started anew"
    assert float(vms.ssh(one, UPTIME)) > uptime
    eventually(lambda: vms.sees(one, two), limit=60, pause=1)
