"""The machine at the end of `up`: created once, repaired, and reachable."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import pytest

from stackwright.smoke.demo import Demo
from stackwright.smoke.host import ssh_command
from stackwright.smoke.icmp import echo, is_reply
from stackwright.smoke.ports import Failed, Login
from stackwright.smoke.tenant import Server
from tests.unit.smoke.cloud_in_memory import Clock, Host, World


def demo(world: World, folder: Path) -> Demo:
    guest = folder / "guest.qcow2"
    guest.touch()
    return Demo(world.tenant(), Host(world), lambda: guest, folder / "ssh", lambda text: None, Clock())


def test_the_machine_is_created_once(tmp_path: Path) -> None:
    world = World()
    first = demo(world, tmp_path).ensure()
    assert first[1] == "172.24.4.9"
    key = (tmp_path / "ssh/demo").read_text()
    assert (tmp_path / "ssh/demo").stat().st_mode & 0o077 == 0
    assert demo(world, tmp_path).ensure() == first
    assert (tmp_path / "ssh/demo").read_text() == key
    assert len(world.servers) == 1
    assert [*world.images] == ["stackwright-guest"]


def test_a_stopped_machine_is_started_and_a_failed_one_recreated(tmp_path: Path) -> None:
    world = World()
    server, _ = demo(world, tmp_path).ensure()
    world.servers[server] = replace(world.servers[server], status="SHUTOFF")
    assert demo(world, tmp_path).ensure()[0] == server
    assert world.servers[server].status == "ACTIVE"
    world.servers[server] = replace(world.servers[server], status="ERROR")
    world.boot_status = "ERROR"
    world.fault = "No valid host"
    with pytest.raises(Failed, match="No valid host"):
        demo(world, tmp_path).ensure()


@pytest.mark.parametrize("status", ["ERROR", "ACTIVE", "SHUTOFF"])
@pytest.mark.parametrize("key", ["", "demo", "mine"])
def test_a_foreign_server_is_not_changed(tmp_path: Path, status: str, key: str) -> None:
    world = World(named={"demo": "theirs"}, keys={"demo": "ssh-ed25519 theirs"})
    world.servers["theirs"] = theirs = Server("theirs", status, key=key)
    with pytest.raises(Failed, match=r"server `demo` exists that this command did not create.*--no-vm"):
        demo(world, tmp_path).ensure()
    assert world.servers == {"theirs": theirs}
    assert world.keys["demo"] == "ssh-ed25519 theirs"


def test_a_foreign_key_pair_remains_and_ours_gets_another_name(tmp_path: Path) -> None:
    world = World(keys={"demo": "ssh-ed25519 theirs"})
    first = demo(world, tmp_path).ensure()
    assert demo(world, tmp_path).ensure() == first
    assert world.keys.pop("demo") == "ssh-ed25519 theirs"
    [(name, public)] = world.keys.items()
    assert name.startswith("demo-")
    assert world.servers[first[0]].key == name
    assert public == (tmp_path / "ssh/demo.pub").read_text()


def test_a_machine_of_an_earlier_version_is_identified_by_its_key(tmp_path: Path) -> None:
    world = World()
    first, _ = demo(world, tmp_path).ensure()
    world.servers[first] = replace(world.servers[first], status="ERROR", key="demo")
    assert demo(world, tmp_path).ensure()[0] in world.servers
    assert [each.status for each in world.servers.values()] == ["ACTIVE"]


def test_a_machine_that_does_not_respond_is_explained(tmp_path: Path) -> None:
    world = World(unwired="its port on node1 is DOWN", log="no lease\n")
    world.agents[0] = replace(world.agents[0], up=False)
    with pytest.raises(Failed) as raised:
        demo(world, tmp_path).ensure()
    *_, cause, down, _, console = str(raised.value).splitlines()
    assert cause == "A ping of 172.24.4.9: not within 240 s: no response: its port on node1 is DOWN"
    assert (down, console) == ("Down: L3 agent on node1.", "  | no lease")


def test_ssh_leaves_no_trace_and_never_prompts() -> None:
    words = ssh_command(Login("192.0.2.1", "stackwright", Path("/k")))
    assert words[:3] == ["ssh", "-F", "none"]
    assert {"BatchMode=yes", "UserKnownHostsFile=/dev/null", "IdentitiesOnly=yes"} <= set(words)
    assert words[-1] == "stackwright@192.0.2.1"


def test_an_echo_and_its_reply() -> None:
    packet = echo(0xABCD)
    assert packet[:2] == b"\x08\x00"
    words = [int.from_bytes(packet[i : i + 2], "big") for i in range(0, len(packet), 2)]
    total = sum(words)
    assert ((total & 0xFFFF) + (total >> 16)) & 0xFFFF == 0xFFFF
    header = bytes([0x45]) + b"\0" * 19
    reply = b"\0" + packet[1:]
    assert is_reply(header + reply, 0xABCD)
    assert not is_reply(header + reply, 0xABCE)
    assert not is_reply(header + packet, 0xABCD)
    assert not is_reply(b"", 1)
