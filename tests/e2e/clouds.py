"""The clouds that tests require, created from any state. `python tests/e2e/clouds.py storage` starts one.

Tests of the operator itself need only an identity service; with a full cloud most of them would take minutes.
"""

from __future__ import annotations

import subprocess
import sys
from collections.abc import Callable

from full import OVN, STORAGE, FullCloud
from harness import CLI, ROOT, SMALL, Cloud, eventually

from stackwright.core.kubernetes.versions import OLDEST_TEXT
from stackwright.local.config import LocalCluster

STOP_LIMIT = 60
KUBERNETES = {f"namespace/{name}" for name in ("default", "kube-node-lease", "kube-public", "kube-system")}


def small(machine: Cloud) -> Cloud:
    """Identity, and what that needs."""
    keep_version(machine, "")
    print(machine.stackwright("up", "--nodes", "1", "--no-cloud", "--yes", limit=3000))
    if machine.is_full():
        machine.renew("--nodes", "1")
    # The spec may contain changes of a killed run, which must not affect this one.
    machine.kubectl("label", "node", "node1", "--overwrite", "openstack-control-plane=enabled")
    machine.kubectl("delete", "secret", "directory", "-n", machine.namespace, "--ignore-not-found")
    if machine.has("block-storage"):  # its volumes would block the change
        machine.remove()
    if machine.spec():
        eventually(lambda: _replaced(machine), 30)
    else:
        machine.kubectl("apply", "--server-side", "--filename", SMALL)
    machine.wait_ready()
    return machine


def _replaced(machine: Cloud) -> bool:
    """Replaces the existing cloud by the small one. The operator may write between kubectl's read and its write."""
    machine.kubectl("replace", "--filename", SMALL)
    return True


def full(machine: Cloud) -> FullCloud:
    """The result of `stackwright up` on a machine without a cloud, including its virtual machine; and its output."""
    keep_version(machine, "")
    machine.stackwright("up", "--nodes", "1", "--no-cloud", "--yes", limit=3000)
    if machine.has("block-storage"):
        machine.renew()
    elif machine.spec() and not machine.is_full():
        machine.remove()
    said = machine.stackwright("up", limit=3000)
    print(said)
    return FullCloud(said)


def storage(machine: Cloud) -> FullCloud:
    """The same with volumes, objects and a small Ceph. One without gets them, as its operator would do it."""
    keep_version(machine, "")
    machine.stackwright("up", "--nodes", "1", "--no-cloud", "--yes", limit=3000)
    if machine.is_full() and not (machine.has("block-storage") and machine.keeps_images()):
        if machine.forgets_removed_nodes():
            machine.empty()
        else:
            machine.renew()
    elif machine.spec() and not machine.is_full():
        machine.remove()
    said = machine.stackwright("up", "--file", STORAGE, "--yes", limit=3000)
    print(said)
    return FullCloud(said, STORAGE)


def bare(machine: Cloud) -> Cloud:
    """Kubernetes alone: no operator, no cloud, no volumes, and no image but its own."""
    keep_version(machine, "")
    if set(machine.kubectl("get", "crds,namespaces", "--output", "name", code=None).split()) != KUBERNETES:
        machine.stackwright("down", "--purge", "--yes", limit=300)
    print(machine.stackwright("up", "--bare", "--nodes", "1", limit=3000))
    return machine


def oldest(machine: Cloud) -> FullCloud:
    """The full cloud on the oldest supported Kubernetes."""
    keep_version(machine, OLDEST_TEXT)
    said = machine.stackwright("up", "--kubernetes", OLDEST_TEXT, limit=3000)
    print(said)
    return FullCloud(said)


def ovn(machine: Cloud) -> FullCloud:
    """The full cloud with OVN on one node. It replaces no other cloud, as virtual machines may exist there."""
    keep_version(machine, "")
    if not machine.spec() or machine.driver() != "ml2/ovn" or len(machine.get("nodes")["items"]) > 1:  # or stopped
        machine.stackwright("down", "--purge", "--yes", limit=300)
    said = machine.stackwright("up", "--file", OVN, "--nodes", "1", limit=3000)
    print(said)
    return FullCloud(said, OVN)


def keep_version(machine: Cloud, version: str) -> None:
    """Deletes a local cluster of another version of Kubernetes; an empty version is the newest."""
    if LocalCluster.discover().kubernetes != version:
        machine.stackwright("down", "--purge", "--yes", limit=300)


class Aloud(Cloud):
    """Repeats the output of `stackwright` immediately, for a waiting user."""

    def stackwright(self, *words: str, limit: float = 300, code: int | None = 0, stdin: str | None = None) -> str:
        print(f"$ stackwright {' '.join(words)}", flush=True)
        process = subprocess.Popen([CLI, *words], cwd=ROOT)
        try:
            ended = process.wait(limit)
        except KeyboardInterrupt:  # the child gets SIGINT, too, and cleans up
            process.wait(STOP_LIMIT)
            raise
        assert code is None or ended == code, f"stackwright {' '.join(words)} exited with {ended}"
        return ""


if __name__ == "__main__":
    begin: dict[str, Callable[[Cloud], Cloud]] = {
        "small": small,
        "full": full,
        "storage": storage,
        "bare": bare,
        "oldest": oldest,
        "ovn": ovn,
    }
    try:
        begin[sys.argv[1]](Aloud())
    except (AssertionError, subprocess.TimeoutExpired) as failed:
        sys.exit(str(failed))
    except KeyboardInterrupt:
        sys.exit(130)
