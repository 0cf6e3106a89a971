"""Lists what remains of a cluster on the machine, such as processes, mounts and links. `down` fails if the list is not
empty; tests use the same list.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from pathlib import Path

from stackwright.local import config
from stackwright.local.config import LocalCluster
from stackwright.local.host import cgroups, hosts_file, mounts, network
from stackwright.local.node import network as node_network


@dataclass
class Leftovers:
    """Kind → descriptions of the remains; false if empty."""

    found: dict[str, list[str]] = field(default_factory=dict)

    def add(self, kind: str, things: list[str]) -> None:
        if things:
            self.found[kind] = sorted(things)

    def __bool__(self) -> bool:
        return bool(self.found)

    def __str__(self) -> str:
        return "\n".join(f"  {kind}: {', '.join(things[:10])}" for kind, things in self.found.items())


def leftovers(cluster: LocalCluster) -> Leftovers:
    left = Leftovers()
    left.add("processes", _processes(config.CGROUP))
    left.add("virtual machines", _processes(config.VM_CGROUP))
    left.add("mounts", [str(path) for path in mounts.cluster_mounts(cluster)])
    left.add("network namespaces", sorted(node_network.namespaces()))
    left.add("links", network.remaining_links())
    left.add("routes", _routes())
    left.add("cgroups", [str(path) for path in cgroups.groups() + cgroups.groups(config.VM_CGROUP)])
    left.add("firewall", [f"nft table ip {network.NFT_TABLE}"] if network.has_table() else [])
    left.add("files", [str(path) for path in (cluster.run, cluster.kernel_memory) if path.exists()])
    left.add("names", [f"lines in {hosts_file.FILE}"] if hosts_file.has_block() else [])
    return left


def _processes(group: str) -> list[str]:
    return [f"{pid} ({_command(pid)})" for pid in sorted(cgroups.processes(group))]


def _command(pid: int) -> str:
    try:
        return Path(f"/proc/{pid}/comm").read_text().strip()
    except OSError:
        return "ended"


def _routes() -> list[str]:
    """Routes to our networks, recognized by their first bytes; /proc has addresses in hexadecimal, little-endian."""
    ours = {"10.244": "F40A", "10.96": "600A", "10.89": "590A", "172.24.4": "0418AC"}
    lines = Path("/proc/net/route").read_text().splitlines()[1:]
    return [name for name, mark in ours.items() for line in lines if line.split()[1].endswith(mark)]
