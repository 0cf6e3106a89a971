"""What follow.sh does with the port of a device that went, on a switch and a clock of functions."""

from __future__ import annotations

import subprocess
from pathlib import Path

import pytest

SCRIPT = Path(__file__).parents[2] / "charts/openvswitch/bin/follow.sh"
# `row` is the port in the database, `device` whether there is one; each second `tick` may change either.
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
def test_only_a_port_that_stays_without_a_device_goes(tick: str, gone: bool) -> None:
    text = f'{WORLD}\ntick() {{ {tick or ":"}; }}\n{SCRIPT.read_text()}\nforget tap1\necho "gone:$gone_port"'
    done = subprocess.run(["bash", "-c", text], capture_output=True, text=True, timeout=20, check=True)
    assert done.stdout.strip().rpartition("gone:")[2] == ("tap1" if gone else ""), done.stderr
