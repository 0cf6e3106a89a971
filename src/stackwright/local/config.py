"""Paths and addresses of the local cluster.

All of them derive from one frozen value, `LocalCluster`, so that `down` finds what `up` created, and a test can have
its own cluster in a temporary directory. `state` survives everything but `down --purge`; `cache` holds builds, which
can be repeated; `run` is lost at a reboot or `down`. The cgroup `/stackwright` holds all processes except those of
virtual machines, which are in `/openstack-vms` because they outlive the pods that start them.
"""

from __future__ import annotations

import ipaddress
import json
import os
from collections.abc import Mapping
from dataclasses import dataclass, replace
from pathlib import Path

from stackwright.core.kubernetes.versions import OLDEST_TEXT

ROUTER = "stackwright-router"
"""Network namespace of the bridges."""
MACHINE_LINK = "sw-machine"
MACHINE_ADDRESS = "10.89.0.1"
UPLINK = "tap0"
UPLINK_NETWORK = "10.91.0.0/24"
"""Network between the router and the program that connects it to the outside; in the router's namespace only."""
BRIDGE = "sw-br0"
BRIDGE_ADDRESS = "10.89.0.2"
BRIDGE_PREFIX = 24
NODE_NETWORK = f"10.89.0.0/{BRIDGE_PREFIX}"
TUNNEL_BRIDGE = "sw-tun0"
TUNNEL_ADDRESS = "10.90.0.1"
"""Not assigned: neither the machine nor the router is in this network. The nodes' tunnel addresses are offsets from it,
as their other addresses are offsets from the machine's."""
EXTERNAL_BRIDGE = "sw-ext0"
EXTERNAL_ADDRESS = "172.24.4.1"
EXTERNAL_NETWORK = "172.24.4.0/24"
BRIDGES = (BRIDGE, TUNNEL_BRIDGE, EXTERNAL_BRIDGE)
POD_NETWORK = "10.244.0.0/16"
SERVICE_NETWORK = "10.96.0.0/16"
KUBERNETES_SERVICE = "10.96.0.1"
DNS_SERVICE = "10.96.0.10"
CLUSTER_DOMAIN = "cluster.local"
API_PORT = 6443
ETCD_PORT = 2379
CONTROLLER_MANAGER_PORT = 10257
SCHEDULER_PORT = 10259
CGROUP = "stackwright"
VM_CGROUP = "openstack-vms"
MAX_NODES = 20
IMAGE_PREFIX = "stackwright.local"


@dataclass(frozen=True)
class Node:
    """One Kubernetes node: namespaces (network, mount, host name) with its own container runtime, kubelet and proxy."""

    index: int
    home: Path
    run: Path

    @property
    def name(self) -> str:
        return f"node{self.index}"

    @property
    def address(self) -> str:
        return str(ipaddress.IPv4Address(MACHINE_ADDRESS) + 9 + self.index)

    @property
    def tunnel_address(self) -> str:
        """Address of its second NIC, `tunnel0`, for traffic between virtual machines on different nodes."""
        return str(ipaddress.IPv4Address(TUNNEL_ADDRESS) + 9 + self.index)

    @property
    def pod_cidr(self) -> str:
        return f"10.244.{self.index}.0/24"

    @property
    def netns(self) -> str:
        return f"stackwright-{self.name}"

    @property
    def veth(self) -> str:
        return f"sw-{self.name}"

    @property
    def tunnel_veth(self) -> str:
        return f"sw-{self.name}-tun"

    @property
    def external_veth(self) -> str:
        return f"sw-{self.name}-ext"

    @property
    def mount_namespace(self) -> Path:
        """Beside `run`, which is emptied when the node starts."""
        return self.run.parent / "namespaces" / f"{self.name}.mnt"

    @property
    def uts_namespace(self) -> Path:
        return self.run.parent / "namespaces" / f"{self.name}.uts"

    @property
    def var(self) -> Path:
        """Parent of the directories that the node sees below /var."""
        return self.home / "var"

    @property
    def cgroup(self) -> str:
        return f"{CGROUP}/{self.name}"

    @property
    def vm_cgroup(self) -> str:
        return f"{VM_CGROUP}/{self.name}"

    @property
    def containerd_root(self) -> Path:
        return self.home / "containerd"

    @property
    def containerd_socket(self) -> Path:
        return self.run / "containerd.sock"

    @property
    def containerd_config(self) -> Path:
        return self.home / "containerd.toml"

    @property
    def cni_conf(self) -> Path:
        return self.home / "cni"

    @property
    def ipam(self) -> Path:
        return self.home / "ipam"

    @property
    def kubelet_root(self) -> Path:
        return self.home / "kubelet"

    @property
    def kubelet_config(self) -> Path:
        return self.home / "kubelet.yaml"

    @property
    def proxy_config(self) -> Path:
        return self.home / "kube-proxy.yaml"

    @property
    def pod_logs(self) -> Path:
        return self.home / "pods"

    def enter(self) -> list[str]:
        """Command prefix that runs a program in the node's namespaces, where all programs share their mounts."""
        network, mounts, host_name = f"/run/netns/{self.netns}", self.mount_namespace, self.uts_namespace
        return ["nsenter", f"--net={network}", f"--mount={mounts}", f"--uts={host_name}", "--"]


@dataclass(frozen=True)
class LocalCluster:
    """Paths of a local cluster; the only argument of most functions in `local/`."""

    state: Path
    cache: Path
    run: Path = Path("/run/stackwright")
    kubernetes: str = ""
    """Version of Kubernetes: the oldest supported one, or empty for the newest."""

    @classmethod
    def discover(cls, environ: Mapping[str, str] | None = None) -> LocalCluster:
        env = os.environ if environ is None else environ
        base = env.get("XDG_CACHE_HOME") or str(Path(env.get("HOME", "/root")) / ".cache")
        found = cls(
            state=Path(env.get("STACKWRIGHT_HOME") or "/var/lib/stackwright").absolute(),
            cache=Path(env.get("STACKWRIGHT_CACHE") or Path(base) / "stackwright").absolute(),
        )
        return replace(found, kubernetes=_kubernetes(found.settings))

    def node(self, index: int) -> Node:
        return Node(index, self.state / "nodes" / f"node{index}", self.run / f"node{index}")

    def nodes(self, count: int) -> list[Node]:
        return [self.node(i) for i in range(1, count + 1)]

    @property
    def pki(self) -> Path:
        return self.state / "pki"

    @property
    def etcd_data(self) -> Path:
        return self.state / "etcd"

    @property
    def config(self) -> Path:
        """Configuration files of the control plane."""
        return self.state / "config"

    @property
    def logs(self) -> Path:
        return self.state / "log"

    @property
    def kubeconfig(self) -> Path:
        return self.state / "kubeconfig"

    @property
    def settings(self) -> Path:
        """Number of nodes of the last `up`, which an `up` without `--nodes` repeats, and the version of Kubernetes."""
        return self.state / "cluster.json"

    @property
    def namespaces(self) -> Path:
        """Mount point whose files keep the nodes' namespaces alive."""
        return self.run / "namespaces"

    @property
    def services(self) -> Path:
        """The supervisor's scan directory."""
        return self.run / "services"

    @property
    def lock(self) -> Path:
        """Beside `run`, which `down` removes while it holds the lock."""
        return self.run.with_name(self.run.name + ".lock")

    @property
    def kernel_memory(self) -> Path:
        """Settings that `down` restores. Beside `run`, which is emptied when a killed cluster starts again."""
        return self.run.with_name(self.run.name + ".kernel")

    @property
    def image_store(self) -> Path:
        return self.cache / "store"

    @property
    def api_url(self) -> str:
        return f"https://{MACHINE_ADDRESS}:{API_PORT}"


def _kubernetes(settings: Path) -> str:
    """The version in `cluster.json`; the newest if it names no other one. `up` refuses a file that is damaged."""
    return OLDEST_TEXT if (settings_in(settings) or {}).get("kubernetes") == OLDEST_TEXT else ""


def settings_in(file: Path) -> dict[str, object] | None:
    """The content of `cluster.json`; None if it is missing or damaged."""
    try:
        found = json.loads(file.read_bytes())
    except (OSError, ValueError):
        return None
    return found if isinstance(found, dict) else None
