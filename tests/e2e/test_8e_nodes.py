"""Two computes: virtual machines on both talk over the tunnel, move, are kept apart, and outlive a power cut."""

from __future__ import annotations

import base64
import time
from collections.abc import Iterator
from pathlib import Path

import pytest
from full import FullCloud
from harness import eventually
from pinger import CHANCE, Pinger
from vms import Vm, Vms

from stackwright.local import power
from stackwright.smoke.icmp import ping

MOVE_LIMIT = 400
RULE_LIMIT = 60
RETURN_LIMIT = 600
BOOT_ID = "cat /proc/sys/kernel/random/boot_id"
UPTIME = "cut -d ' ' -f 1 /proc/uptime"


@pytest.fixture(scope="module")
def pair(full_cloud: FullCloud, vms: Vms) -> Iterator[tuple[Vm, Vm]]:
    """One machine on each of two nodes."""
    full_cloud.stackwright("up", "--nodes", "2", limit=900)
    full_cloud.wait_ready()
    # The cloud finds the new node by itself.
    names = {"node1", "node2"}
    eventually(lambda: {h.name for h in vms.sdk.compute.hypervisors() if h.state == "up"} == names, 300, pause=2)
    script = base64.b64encode(b"#!/bin/sh\necho user data of one\n").decode()
    made = [vms.begin("one", "node1", user_data=script), vms.begin("two", "node2", config_drive=True)]
    try:
        for vm in made:
            vms.reached(vm)
        yield made[0], made[1]
    finally:
        for vm in made:
            vms.delete(vm)


def host(vms: Vms, vm: Vm) -> str:
    return str(vms.server(vm).compute_host)


def test_vms_on_both_nodes_talk_over_the_tunnel(vms: Vms, pair: tuple[Vm, Vm]) -> None:
    one, two = pair
    assert (host(vms, one), host(vms, two)) == ("node1", "node2")
    eventually(lambda: vms.sees(one, two) and vms.sees(two, one), limit=60, pause=1)
    wanted = vms.ssh(two, "hostname")
    assert (wanted, vms.ssh(one, "hostname")) == ("two", "one"), "each by its own floating IP"
    # More than a packet's worth: an MTU that forgets the tunnel loses what is large.
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
    except OSError:  # it has just ended
        return False


def test_metadata_user_data_and_config_drive_are_honoured(vms: Vms, pair: tuple[Vm, Vm]) -> None:
    one, two = map(vms.console, pair)
    assert "key from metadata" in one
    assert "user data of one" in one
    assert "user data ended with exit code 0" in one
    assert "key from config-drive" in two


def test_security_groups_drop_what_comes_in(vms: Vms, pair: tuple[Vm, Vm]) -> None:
    one, two = pair
    greets = f"(sleep 3) | nc -w 5 {two.fixed} 22 | grep -q SSH"
    vms.without(two.group, "ingress", "icmp")
    try:
        eventually(lambda: not vms.sees(one, two), limit=RULE_LIMIT)
        assert vms.says(one, greets), "only ping is closed"
    finally:
        vms.rule(two.group, protocol="icmp")
    eventually(lambda: vms.sees(one, two), limit=RULE_LIMIT)


def test_security_groups_drop_what_goes_out(vms: Vms, pair: tuple[Vm, Vm]) -> None:
    one, two = pair
    vms.without(one.group, "egress", None)  # the rule that every new group has
    try:
        eventually(lambda: not vms.sees(one, two), limit=RULE_LIMIT)
        assert vms.sees(two, one), "answers to what may come in may go out"
    finally:
        vms.rule(one.group, "egress")
    eventually(lambda: vms.sees(one, two), limit=RULE_LIMIT)


def test_live_migration(vms: Vms, pair: tuple[Vm, Vm]) -> None:
    one, two = pair
    boot, uptime = vms.ssh(one, BOOT_ID), float(vms.ssh(one, UPTIME))
    start = time.monotonic()
    with Pinger(one.floating) as pinger:
        vms.sdk.compute.live_migrate_server(one.id, host="node2", block_migration="auto")
        eventually(lambda: host(vms, one) == "node2", limit=MOVE_LIMIT, pause=1)
        vms.settled(one, "ACTIVE", MOVE_LIMIT)
        took = time.monotonic() - start
        eventually(lambda: ping(one.floating), limit=60)
        print(f"live migration: {took:.0f} s, longest gap of pings {pinger.gap():.1f} s, {pinger.lost()} lost")
    assert vms.ssh(one, BOOT_ID) == boot, "it was not started anew"
    assert float(vms.ssh(one, UPTIME)) > uptime
    eventually(lambda: vms.sees(one, two), limit=60, pause=1)


@pytest.mark.long
def test_cold_migration(vms: Vms, pair: tuple[Vm, Vm]) -> None:
    """With its disk."""
    one, two = pair
    before = host(vms, one)
    boot = vms.ssh(one, f"echo kept > /var/kept; sync; {BOOT_ID}")
    start = time.monotonic()
    vms.sdk.compute.migrate_server(one.id)
    vms.settled(one, "VERIFY_RESIZE", MOVE_LIMIT)
    vms.sdk.compute.confirm_server_resize(one.id)
    vms.reached(one, MOVE_LIMIT)
    print(f"cold migration to a login: {time.monotonic() - start:.0f} s")
    assert host(vms, one) != before
    assert vms.ssh(one, "cat /var/kept") == "kept"
    assert vms.ssh(one, BOOT_ID) != boot
    eventually(lambda: vms.sees(one, two), limit=60, pause=1)


@pytest.mark.long
def test_a_node_override_gives_that_node_alone_its_value(full_cloud: FullCloud, pair: tuple[Vm, Vm]) -> None:
    value = {"conf": {"nova": {"DEFAULT": {"reserved_host_memory_mb": 517}}}}
    services = {"compute": {"nova": {"compute": {"values": value}}}}

    def told() -> dict[str, str]:
        pods = full_cloud.pods("-l", "application=nova,component=compute").values()
        where = ("nova-compute", "reserved_host_memory_mb", "/etc/nova/nova.conf")
        return {pod["spec"]["nodeName"]: full_cloud.read(pod["metadata"]["name"], *where) for pod in pods}

    before = told()
    try:
        full_cloud.change(nodes={"kubernetes.io/hostname::node1": {"services": services}})
        assert told() == {**before, "node1": "reserved_host_memory_mb = 517"}
    finally:
        full_cloud.change()
    eventually(lambda: told() == before, limit=60)


def test_after_a_power_cut_vms_come_back_with_their_network(
    full_cloud: FullCloud, vms: Vms, pair: tuple[Vm, Vm]
) -> None:
    one, two = pair
    cluster = full_cloud.cluster
    boot = vms.ssh(two, BOOT_ID)
    with Pinger(vms.demo.floating) as others:
        power.cut(cluster, cluster.node(2))
        eventually(lambda: not ping(two.floating), limit=10)
        start = time.monotonic()
        power.on(cluster, cluster.node(2), cluster.nodes(2))
        eventually(lambda: ping(two.floating), limit=RETURN_LIMIT)
        print(f"pinged again {time.monotonic() - start:.0f} s after power came back")
        vms.reached(two, RETURN_LIMIT)
    assert vms.ssh(two, BOOT_ID) != boot
    assert host(vms, two) == "node2"
    eventually(lambda: vms.sees(one, two) and vms.sees(two, one), limit=120, pause=1)
    assert others.lost() <= CHANCE, "the other node's machines do not notice"
    full_cloud.wait_ready()
