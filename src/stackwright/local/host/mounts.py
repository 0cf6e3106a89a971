"""Mounts below the cluster's directories: the kubelet's volumes, containers' root file systems, network namespaces."""

from __future__ import annotations

from pathlib import Path

from stackwright.local.commands import succeeds
from stackwright.local.config import LocalCluster

NETNS_PREFIX = "/run/netns/stackwright-"


def cluster_mounts(cluster: LocalCluster) -> list[Path]:
    """Mounts of the cluster in the order in which they can be unmounted, the latest first."""
    tops = (f"{cluster.state}/", f"{cluster.run}/", NETNS_PREFIX)
    found = [target for target in all_targets() if target.startswith(tops)]
    return [Path(target) for target in reversed(found)]


def below(top: Path) -> list[Path]:
    return [Path(target) for target in reversed(all_targets()) if target.startswith(f"{top}/")]


def all_targets() -> list[str]:
    lines = Path("/proc/self/mountinfo").read_text().splitlines()
    return [line.split()[4].encode().decode("unicode_escape") for line in lines]


def unmount(paths: list[Path]) -> None:
    """Unmount, lazily if necessary. The caller checks the remaining mounts."""
    for path in paths:
        if not succeeds(["umount", path]):
            succeeds(["umount", "--lazy", path])
