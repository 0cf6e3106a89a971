"""Settings of the machine's kernel that the cluster needs; `down` puts back what it changed.

A setting that somebody changed since is left alone. Those of the network are not among them: forwarding and bridging
happen in namespaces of ours (`local/host/network.py`).

The memory of the former values is good for one boot of the machine: after another, its own settings are there again.
"""

from __future__ import annotations

import json
from pathlib import Path

from stackwright.local.commands import LocalError
from stackwright.local.config import LocalCluster
from stackwright.local.host.files import write_whole

SETTINGS = Path("/proc/sys")
BOOT = Path("/proc/sys/kernel/random/boot_id")
# Counted for each user, so all nodes share them: runtimes, kubelets, and every follower of a log.
AT_LEAST = {"fs/inotify/max_user_instances": 2048, "fs/inotify/max_user_watches": 524288}


def wanting() -> dict[str, int]:
    """Settings that are too small, with the values they need. One that the kernel lacks is not missed."""
    return {name: least for name, least in AT_LEAST.items() if (_value(name) or least) < least}


def ensure(cluster: LocalCluster) -> None:
    remembered = _remembered(cluster)
    for name in remembered.keys() - AT_LEAST.keys():  # an older version changed more
        _set(name, remembered.pop(name))
    before = {name: _value(name) for name in wanting()} | remembered
    file = cluster.kernel_memory
    file.parent.mkdir(parents=True, exist_ok=True)
    write_whole(file, json.dumps({"boot": BOOT.read_text(), "before": before}))
    for name, value in wanting().items():
        _set(name, value)


def restore(cluster: LocalCluster) -> None:
    for name, value in _remembered(cluster).items():
        if _value(name) == AT_LEAST.get(name, _value(name)):
            _set(name, value)
    cluster.kernel_memory.unlink(missing_ok=True)


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
