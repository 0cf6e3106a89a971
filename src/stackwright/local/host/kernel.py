"""Kernel settings of the machine that the cluster needs; `down` restores the previous values.

A setting that another program has changed since is not restored. Network settings are not among them: forwarding
and bridging are set in our own namespaces (`local/host/network.py`). The remembered values are valid for one boot of
the machine, since a reboot restores its own settings.
"""

from __future__ import annotations

import json
from pathlib import Path

from stackwright.local.commands import LocalError
from stackwright.local.config import LocalCluster
from stackwright.local.host.files import write_whole

SETTINGS = Path("/proc/sys")
BOOT = Path("/proc/sys/kernel/random/boot_id")
# The kernel counts these per user, so all nodes share them: runtimes, kubelets, and each process that follows a log.
AT_LEAST = {"fs/inotify/max_user_instances": 2048, "fs/inotify/max_user_watches": 524288}


def too_small() -> dict[str, int]:
    """Settings that are too small, with the required values. Settings that the kernel lacks are ignored."""
    return {name: least for name, least in AT_LEAST.items() if (_value(name) or least) < least}


def ensure(cluster: LocalCluster) -> None:
    remembered = _remembered(cluster)
    for name in remembered.keys() - AT_LEAST.keys():  # changed by an older version
        _set(name, remembered.pop(name))
    before = {name: _value(name) for name in too_small()} | remembered
    file = cluster.kernel_memory
    file.parent.mkdir(parents=True, exist_ok=True)
    write_whole(file, json.dumps({"boot": BOOT.read_text(), "before": before}))
    for name, value in too_small().items():
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
