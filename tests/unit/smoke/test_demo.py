"""The machine that `up` ends with: made once, mended, and heard."""

from __future__ import annotations

import socket
import threading
from dataclasses import replace
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest
from cloud_in_memory import Clock, Host, World

from stackwright.local import bringup
from stackwright.local.config import LocalCluster
from stackwright.local.steps import demo as step
from stackwright.smoke.demo import Demo
from stackwright.smoke.host import ssh_command
from stackwright.smoke.icmp import echo, is_reply
from stackwright.smoke.ports import Failed, Login


def demo(world: World, folder: Path) -> Demo:
    guest = folder / "guest.qcow2"
    guest.touch()
    return Demo(world.tenant(), Host(world), lambda: guest, folder / "ssh", lambda text: None, Clock())


def test_it_is_made_once(tmp_path: Path) -> None:
    world = World()
    first = demo(world, tmp_path).ensure()
    assert first[1] == "172.24.4.9"
    key = (tmp_path / "ssh/demo").read_text()
    assert (tmp_path / "ssh/demo").stat().st_mode & 0o077 == 0
    assert demo(world, tmp_path).ensure() == first
    assert (tmp_path / "ssh/demo").read_text() == key
    assert len(world.servers) == 1
    assert [*world.images] == ["stackwright-guest"]


def test_a_stopped_one_is_started_and_a_failed_one_made_anew(tmp_path: Path) -> None:
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


def test_one_that_is_not_heard_is_explained(tmp_path: Path) -> None:
    world = World(unwired="its port on node1 is DOWN", log="no lease\n")
    world.agents[0] = replace(world.agents[0], up=False)
    with pytest.raises(Failed) as raised:
        demo(world, tmp_path).ensure()
    *_, cause, down, _, console = str(raised.value).splitlines()
    assert cause == "A ping of 172.24.4.9: not within 240 s: no answer: its port on node1 is DOWN"
    assert (down, console) == ("Down: L3 agent on node1.", "  | no lease")


def context(folder: Path, **features: Any) -> Any:
    cloud = {
        "metadata": {"uid": "u1", "namespace": "openstack", "name": "cloud"},
        "spec": {"public_domain_name": "cloud.example", "features": {"neutron": {"floating_network": features}}},
        "status": {"services": {name: {} for name in (*step.NEEDED, "dashboard")}},
    }
    api = SimpleNamespace(get=lambda path: {"items": [cloud]})
    cluster = LocalCluster(folder, folder)
    return SimpleNamespace(cloud=True, vm=True, bare=False, kubeconfig=None, cluster=cluster, api=api)


def test_the_step_is_skipped_with_the_reason_when_there_is_nothing_to_boot_in(tmp_path: Path) -> None:
    assert "floating_network" in (step.skipped(context(tmp_path, enabled=False)) or "")
    ctx = context(tmp_path, enabled=True)
    assert step.skipped(ctx) is None
    assert not step.done(ctx)
    assert step in bringup.steps(ctx)
    for option in ("vm", "cloud"):
        without: Any = SimpleNamespace(**{**vars(ctx), option: False})
        assert step.skipped(without) == f"--no-{option} was given"
    assert not any("ssh -i" in line for line in step.summary(ctx))


def test_the_step_is_done_when_the_remembered_machine_is_heard(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    ctx = context(tmp_path, enabled=True)
    step.marker(ctx.cluster).write_text('{"cloud": "u1", "server": "s", "address": "172.24.4.9"}')
    monkeypatch.setattr(step, "greets", lambda address: address == "172.24.4.9")
    assert step.done(ctx)
    assert "stackwright@172.24.4.9" in step.summary(ctx)[0]
    assert "https://horizon.cloud.example" in step.summary(ctx)[1]
    step.marker(ctx.cluster).write_text('{"cloud": "another", "server": "s", "address": "172.24.4.9"}')
    assert not step.done(ctx)


def test_an_ssh_server_is_known_by_its_greeting(monkeypatch: pytest.MonkeyPatch) -> None:
    with socket.create_server(("127.0.0.1", 0)) as listener:
        real = socket.create_connection
        there = listener.getsockname()
        monkeypatch.setattr(socket, "create_connection", lambda address, timeout: real(there, timeout))

        def greet(words: bytes) -> None:
            accepted, _ = listener.accept()
            with accepted:
                accepted.sendall(words)

        for words, heard in ((b"SSH-2.0-dropbear\r\n", True), (b"HTTP/1.1 400", False)):
            thread = threading.Thread(target=greet, args=(words,))
            thread.start()
            assert step.greets("192.0.2.1") is heard
            thread.join()
    assert not step.greets("")


def test_ssh_leaves_no_trace_and_asks_nobody() -> None:
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
