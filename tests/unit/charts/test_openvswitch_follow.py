"""The handling of ports in follow.sh whose devices are deleted, appear or are down, with stand-ins for switch and
clock.
"""

from __future__ import annotations

import subprocess

import pytest

from support.paths import ROOT

SCRIPT = ROOT / "charts/openvswitch/bin/follow.sh"
# `row` is the port in the database, `device` whether it exists; `tick` may change either each second.
WORLD = """
set -u
row=one device= now=0 gone_port=
vsctl() {
    [[ $1 == --if-exists ]] && shift
    case "$1 ${4:-}" in
        "get _uuid") echo "$row" ;;
        "get type") [[ -n $row ]] && echo '""' ;;
        *) [[ $1 == del-port ]] && gone_port=$2 ;;
    esac
}
exists() { [[ -n $device ]]; }
say() { :; }
sleep() { now=$((now + $1)); tick; }
"""


@pytest.mark.parametrize(
    ("tick", "gone"),
    [
        pytest.param("", True, id="nothing comes"),
        pytest.param("device=$(( now >= 3 ? 1 : 0 )); device=${device#0}", False, id="a machine that is rebooted"),
        pytest.param(
            "device=; [[ $now -lt 3 || $now -ge 25 ]] || device=1; [[ $now -lt 29 ]] || row=two", False,
            id="rebooted, and resized half a minute later",
        ),
        pytest.param("[[ $now -lt 29 ]] || row=two", False, id="stopped, and started half a minute later"),
        pytest.param("row=", False, id="its port is gone already"),
    ],
)  # fmt: skip
def test_only_a_port_without_a_device_is_deleted(tick: str, gone: bool) -> None:
    text = f'{WORLD}\ntick() {{ {tick or ":"}; }}\n{SCRIPT.read_text()}\nforget tap1\necho "gone:$gone_port"'
    done = subprocess.run(["bash", "-c", text], capture_output=True, text=True, timeout=20, check=True)
    assert done.stdout.strip().rpartition("gone:")[2] == ("tap1" if gone else ""), done.stderr


def ran(script: str, *, world: str = WORLD) -> list[str]:
    text = f"{world}\ntick() {{ :; }}\n{SCRIPT.read_text()}\n{script}\nwait"
    done = subprocess.run(["bash", "-c", text], capture_output=True, text=True, timeout=20, check=True)
    return sorted(done.stdout.split("\n"))[1:]


def link(name: str, flags: str, deleted: bool = False) -> str:
    return (
        f"{'Deleted ' if deleted else ''}7: {name}: <{flags}> mtu 1450 qdisc noqueue state UP \\    link/ether fa:16:3e"
    )


UP, DOWN = "BROADCAST,MULTICAST,UP,LOWER_UP", "BROADCAST,MULTICAST"


@pytest.mark.parametrize(
    ("lines", "did"),
    [
        ([link("tap1", UP)], []),
        ([link("tap1", DOWN)], ["raise tap1"]),
        ([link("tap1", "BROADCAST,LOWER_UP")], ["raise tap1"]),
        ([link("tap1", DOWN, deleted=True)], ["forget tap1"]),
        ([link("tap1", UP, deleted=True), link("tap1", UP), link("tap1", UP)], ["forget tap1", "reopen tap1"]),
        ([link("tap1", UP, deleted=True), link("tap2", UP)], ["forget tap1"]),
        ([link("qvo1", DOWN), link("eth0", UP, deleted=True)], []),
    ],
)
def test_kernel_events_of_taps_are_handled(lines: list[str], did: list[str]) -> None:
    """LOWER_UP alone is no UP. A returned device is opened again once."""
    told = "\n".join(lines)
    stubs = "".join(f'{name}() {{ echo "{name} $1"; }}\n' for name in ("raise", "forget", "reopen"))
    assert ran(f"{stubs}ip() {{ cat <<'END'\n{told}\nEND\n}}\nfollow_devices") == did


@pytest.mark.parametrize(
    ("world", "now", "raised"),
    [
        ("", DOWN, True),
        ("", UP, False),
        ("", "BROADCAST,LOWER_UP", True),
        ("vsctl() { echo internal; }", DOWN, False),
        ("exists() { false; }", DOWN, False),
    ],
)
def test_only_a_tap_of_a_machine_that_stays_down_is_set_up(world: str, now: str, raised: bool) -> None:
    """That of a DHCP server is vswitchd's own."""
    ip = f"ip() {{ case $1 in -oneline) echo '7: tap1: <{now}> mtu 1450' ;; link) echo \"ip $*\" ;; esac; }}"
    found = ran(f"{ip}\nexists() {{ true; }}\n{world}\nraise tap1")
    assert found == (["ip link set dev tap1 up"] if raised else [])
