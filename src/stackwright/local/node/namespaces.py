"""A node's view of the machine: its own mounts and host name, beside its own network.

Pods name directories of their node, such as /run/openvswitch or /var/lib/nova. On a machine with several nodes these
must differ, so each node has its own

    /run                 a tmpfs, empty at each start of the node, as after a reboot of a real one
    /var/lib  /var/log   directories of the state, <state>/nodes/<node>/var/..., which stay
    /etc/machine-id      made once; by it libvirt tells hosts apart
    host name            the node's

and everything else is the machine's. The namespaces are kept alive by two files in <run>/namespaces, which is a mount
that nobody shares: a mount namespace may not be held by a mount that spreads into it. Mounts of the machine spread
into the nodes and not back; inside a node every mount is shared, so that pods may mount for each other.
"""

from __future__ import annotations

import json
import sys
import uuid
from pathlib import Path
from typing import Any

from stackwright.local.commands import bound, run, succeeds
from stackwright.local.config import LocalCluster, Node
from stackwright.local.host import machine, mounts
from stackwright.local.node import mounts as node_mounts

NETNS = "/run/netns"
MACHINE_ID = Path("/etc/machine-id")


def ready(node: Node) -> bool:
    """The mark is made last and removed first."""
    kept = mounts.all_targets()
    return _mark(node).exists() and str(node.mount_namespace) in kept and str(node.uts_namespace) in kept


def make(cluster: LocalCluster, node: Node) -> None:
    """Make them anew: whatever is half there is thrown away."""
    remove(node)
    _ensure_private_place(cluster.namespaces)
    machine_id = node.home / "machine-id"
    for folder in (node.run, node.var / "lib", node.var / "log"):
        folder.mkdir(parents=True, exist_ok=True)
    if not machine_id.exists():
        machine_id.write_text(uuid.uuid4().hex + "\n")
    for file in (node.mount_namespace, node.uts_namespace):
        file.touch()
    hold = [f"--mount={node.mount_namespace}", f"--uts={node.uts_namespace}", "--propagation=slave"]
    program = [sys.executable, "-I", "-S", node_mounts.__file__]
    run(bound(["unshare", *hold, "--", *program]), stdin=json.dumps(plan(cluster, node)))
    _mark(node).touch()


def remove(node: Node) -> None:
    """The kernel takes the mounts away as soon as the last program of the node has ended."""
    _mark(node).unlink(missing_ok=True)
    for file in (node.mount_namespace, node.uts_namespace):
        while str(file) in mounts.all_targets() and succeeds(["umount", file]):
            pass
        file.unlink(missing_ok=True)


def plan(cluster: LocalCluster, node: Node) -> dict[str, Any]:
    """What `local/node/mounts.py` is told."""
    own = {"/run": "", "/var/lib": str(node.var / "lib"), "/var/log": str(node.var / "log")}
    needed = [cluster.state, cluster.cache, node.run, machine.resolv_conf().resolve().parent]
    return {
        "hostname": node.name,
        "forgotten": [NETNS, str(cluster.namespaces)],
        "own": own,
        "kept": _hidden(needed, own),
        "files": {str(MACHINE_ID): str(node.home / "machine-id")} if MACHINE_ID.exists() else {},
        "folders": [NETNS, "/run/lock", "/run/openvswitch", "/run/ovn", "/run/libvirt", "/run/nova"],
        # `ip netns` wants a mount here, and would make one over those that pods already share.
        "mounts": [NETNS],
    }


def _hidden(needed: list[Path], own: dict[str, str]) -> list[str]:
    """Those of the machine's directories that would be lost to the node; one inside another comes with it."""
    found: list[Path] = []
    for path in sorted(set(needed)):
        covered = any(path.is_relative_to(place) for place in own)
        if covered and path.is_dir() and not any(path.is_relative_to(other) for other in found):
            found.append(path)
    return [str(path) for path in found]


def _ensure_private_place(place: Path) -> None:
    place.mkdir(parents=True, exist_ok=True)
    if str(place) not in mounts.all_targets():
        run(["mount", "--bind", "--make-private", place, place])
    run(["mount", "--make-private", place])


def _mark(node: Node) -> Path:
    return node.mount_namespace.with_suffix(".ready")
