"""The table of firewall rules, in a namespace that stands for the machine, between a LAN, a pod, and others."""

from __future__ import annotations

import subprocess
from collections.abc import Iterator

import pytest

from stackwright.local import network

MACHINE, LAN, POD, OTHER = "swt-machine", "swt-lan", "swt-pod", "swt-other"
LINKS = {LAN: ("lan0", "192.0.2"), POD: ("sw-br0", "10.89.0"), OTHER: ("other0", "198.51.100")}


def ip(*words: str) -> None:
    subprocess.run(["ip", *words], check=True, capture_output=True)


def reaches(source: str, address: str) -> bool:
    """Whether a packet gets an answer, which is that nothing listens; one that is dropped gets none."""
    command = ["ip", "netns", "exec", source, "timeout", "1", "bash", "-c", f"exec 3<>/dev/tcp/{address}/9"]
    return "refused" in subprocess.run(command, capture_output=True, text=True).stderr


@pytest.fixture
def machine() -> Iterator[None]:
    names = (MACHINE, *LINKS)
    try:
        for name in names:
            ip("netns", "add", name)
        for name, (link, net) in LINKS.items():
            ip("link", "add", link, "netns", MACHINE, "type", "veth", "peer", "name", "eth0", "netns", name)
            ip("-n", MACHINE, "address", "add", f"{net}.1/24", "dev", link)
            ip("-n", name, "address", "add", f"{net}.2/24", "dev", "eth0")
            ip("-n", MACHINE, "link", "set", link, "up")
            ip("-n", name, "link", "set", "eth0", "up")
            ip("-n", name, "route", "add", "default", "via", f"{net}.1")
        ip("netns", "exec", MACHINE, "sysctl", "-qw", "net.ipv4.ip_forward=1")
        yield
    finally:
        for name in names:
            subprocess.run(["ip", "netns", "del", name], capture_output=True)


def load(*, router: bool) -> None:
    command = ["ip", "netns", "exec", MACHINE, "nft", "-f", "-"]
    subprocess.run(command, input=network.rules(router=router), text=True, check=True)


@pytest.mark.usefixtures("machine")
def test_pods_reach_the_outside_and_nobody_outside_reaches_them() -> None:
    assert reaches(LAN, "10.89.0.2"), "without the rules it would"
    load(router=False)
    assert reaches(POD, "192.0.2.2")
    assert reaches(MACHINE, "10.89.0.2")
    assert reaches(POD, "10.89.0.1")
    assert not reaches(LAN, "10.89.0.2"), "a pod"
    assert not reaches(LAN, "10.89.0.1"), "the machine's address inside"
    assert reaches(LAN, "192.0.2.1"), "the machine itself"


@pytest.mark.usefixtures("machine")
def test_a_machine_that_was_no_router_does_not_become_one() -> None:
    assert reaches(LAN, "198.51.100.2")
    load(router=False)
    assert not reaches(LAN, "198.51.100.2")
    load(router=True)
    assert reaches(LAN, "198.51.100.2")
