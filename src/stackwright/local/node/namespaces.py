"""Mount and host name namespaces of a node.

Pods mount directories of their node, such as /run/openvswitch or /var/lib/nova. On a machine with several nodes these
must differ, so each node has its own

    /run                 a tmpfs, empty at each start of the node, as after a reboot of a real one
    /var/lib  /var/log   <state>/nodes/<node>/var/..., which persist
    /etc/machine-id      created once; libvirt identifies hosts by it
    host name            the node's name

and shares everything else with the machine. Two files in <run>/namespaces keep the namespaces alive. This directory is
a private mount, because a mount namespace must not be held by a mount that propagates into it. Mounts of the machine
propagate into the nodes and not back; inside a node every mount is shared, so that pods see each other's mounts.
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
    """Whether the namespaces are complete; the marker file is created last and removed first."""
    kept = mounts.all_targets()
    return _mark(node).exists() and str(node.mount_namespace) in kept and str(node.uts_namespace) in kept


def make(cluster: LocalCluster, node: Node) -> None:
    """Create the namespaces, after the removal of old or incomplete ones."""
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
    """Release the namespaces; the kernel removes the mounts when the last program of the node ends."""
    _mark(node).unlink(missing_ok=True)
    for file in (node.mount_namespace, node.uts_namespace):
        while str(file) in mounts.all_targets() and succeeds(["umount", file]):
            pass
        file.unlink(missing_ok=True)


def plan(cluster: LocalCluster, node: Node) -> dict[str, Any]:
    """Input of `local/node/mounts.py`."""
    own = {"/run": "", "/var/lib": str(node.var / "lib"), "/var/log": str(node.var / "log")}
    needed = [cluster.state, cluster.cache, node.run, machine.resolv_conf().resolve().parent]
    return {
        "hostname": node.name,
        "forgotten": [NETNS, str(cluster.namespaces)],
        "own": own,
        "kept": _hidden(needed, own),
        "files": {str(MACHINE_ID): str(node.home / "machine-id")} if MACHINE_ID.exists() else {},
        "folders": [NETNS, "/run/lock", "/run/openvswitch", "/run/ovn", "/run/libvirt", "/run/nova"],
        # `ip netns` requires a mount here, and would otherwise mount over those that pods already share.
        "mounts": [NETNS],
    }


def _hidden(needed: list[Path], own: dict[str, str]) -> list[str]:
    """The needed directories that the node's own mounts would hide, without those inside another one of them."""
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
