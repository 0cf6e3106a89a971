"""Settings of the machine's kernel that the cluster needs; `down` puts back what it changed, unless others need it now.

A setting that somebody changed since is left alone. So are the settings of forwarding and bridging when there is a
bridge of somebody else's, such as that of another container runtime, which may have come to rely on them.

The memory of the former values is good for one boot of the machine: after another, its own settings are there again.
"""

from __future__ import annotations

import json
from pathlib import Path

from stackwright.local.commands import LocalError
from stackwright.local.config import BRIDGES, LocalCluster

SETTINGS = Path("/proc/sys")
BOOT = Path("/proc/sys/kernel/random/boot_id")
LINKS = Path("/sys/class/net")
FORWARD = "net/ipv4/ip_forward"
EXACT = {
    FORWARD: 1,
    # Frames from node to node over a bridge are not routed by the machine; its firewall's rules for routing, often
    # "drop", must not meet them.
    "net/bridge/bridge-nf-call-iptables": 0,
}
# Counted for each user, so all nodes share them: runtimes, kubelets, and every follower of a log.
AT_LEAST = {"fs/inotify/max_user_instances": 2048, "fs/inotify/max_user_watches": 524288}


def wanting() -> dict[str, int]:
    """Settings that are not as they must be, with the values they need. One that the kernel lacks is not missed."""
    values = {name: _value(name) for name in (*EXACT, *AT_LEAST)}
    wrong = {name: value for name, value in EXACT.items() if values[name] not in (None, value)}
    return wrong | {name: least for name, least in AT_LEAST.items() if (values[name] or least) < least}


def ensure(cluster: LocalCluster) -> None:
    wrong = wanting()
    before = _remembered(cluster)
    new = {name: _value(name) for name in wrong if name not in before}
    if new:
        file = cluster.kernel_memory
        aside = file.with_name(file.name + ".new")
        file.parent.mkdir(parents=True, exist_ok=True)
        aside.write_text(json.dumps({"boot": BOOT.read_text(), "before": before | new}))
        aside.replace(file)
    for name, value in wrong.items():
        _set(name, value)


def restore(cluster: LocalCluster) -> None:
    shared = foreign_bridges()
    for name, value in _remembered(cluster).items():
        ours = EXACT.get(name, AT_LEAST.get(name))
        if _value(name) == ours and not (name in EXACT and shared):
            _set(name, value)
    cluster.kernel_memory.unlink(missing_ok=True)


def foreign_bridges() -> list[str]:
    return sorted(path.parent.name for path in LINKS.glob("*/bridge") if path.parent.name not in BRIDGES)


def was_router(cluster: LocalCluster) -> bool:
    """Whether the machine forwarded packets before we made it do so."""
    return _remembered(cluster).get(FORWARD, _value(FORWARD)) == 1


def _remembered(cluster: LocalCluster) -> dict[str, int]:
    try:
        document = json.loads(cluster.kernel_memory.read_text())
    except OSError:
        return {}
    return dict(document["before"]) if document["boot"] == BOOT.read_text() else {}


def _value(name: str) -> int | None:
    try:
        return int((SETTINGS / name).read_text())
    except OSError:
        return None


def _set(name: str, value: int) -> None:
    try:
        (SETTINGS / name).write_text(str(value))
    except OSError as refused:
        text = f"The kernel's setting {name.replace('/', '.')} cannot be set to {value} ({refused.strerror})."
        raise LocalError(f"{text} Set it on the machine, or give this container a writable /proc/sys.") from refused
