"""Configuration files of a node's programs. Pure: node in, text out."""

from __future__ import annotations

import json
from pathlib import Path

from stackwright.local import config
from stackwright.local.config import Node
from stackwright.local.host.machine import Machine

CNI_PLUGINS = Path("/usr/lib/cni")


def containerd(node: Node, sandbox_image: str, machine: Machine) -> str:
    """Configuration of a node's containerd; all paths are the node's own, so nodes share only the binaries."""
    return f"""\
version = 3
root = {_toml(node.containerd_root)}
state = {_toml(node.run / "containerd")}
disabled_plugins = [
  "io.containerd.snapshotter.v1.btrfs", "io.containerd.snapshotter.v1.zfs",
  "io.containerd.snapshotter.v1.devmapper", "io.containerd.snapshotter.v1.blockfile",
  "io.containerd.snapshotter.v1.erofs", "io.containerd.nri.v1.nri",
]

[grpc]
  address = {_toml(node.containerd_socket)}

[plugins.'io.containerd.cri.v1.images']
  snapshotter = "overlayfs"
  [plugins.'io.containerd.cri.v1.images'.pinned_images]
    sandbox = "{sandbox_image}"
  [plugins.'io.containerd.cri.v1.images'.registry]
    config_path = "/etc/containerd/certs.d"

[plugins.'io.containerd.cri.v1.runtime']
  restrict_oom_score_adj = {_toml(not machine.may_raise_limits)}
  netns_mounts_under_state_dir = true
  # A sample asks every shim, which reads all its cgroups, by default each second. kubelet reads cgroups itself instead.
  stats_collect_period = "1h"
  [plugins.'io.containerd.cri.v1.runtime'.cni]
    bin_dirs = [{_toml(CNI_PLUGINS)}]
    conf_dir = {_toml(node.cni_conf)}
  [plugins.'io.containerd.cri.v1.runtime'.containerd.runtimes.runc]
    runtime_type = "io.containerd.runc.v2"
    [plugins.'io.containerd.cri.v1.runtime'.containerd.runtimes.runc.options]
      BinaryName = {_toml(machine.runc)}
      Root = {_toml(node.run / "runc")}
      # Shims outlive containerd; in a cgroup of their own they are not taken for its leftovers.
      ShimCgroup = "/{node.cgroup}/shims"
      SystemdCgroup = false
"""


def store_containerd(root: Path, state: Path, socket: Path) -> str:
    """Configuration of a containerd that only imports images: no CRI, no network."""
    return f"""\
version = 3
root = {_toml(root)}
state = {_toml(state)}
disabled_plugins = ["io.containerd.grpc.v1.cri", "io.containerd.cri.v1.images", "io.containerd.cri.v1.runtime",
  "io.containerd.snapshotter.v1.btrfs", "io.containerd.snapshotter.v1.zfs", "io.containerd.nri.v1.nri",
  "io.containerd.snapshotter.v1.devmapper", "io.containerd.snapshotter.v1.blockfile",
  "io.containerd.snapshotter.v1.erofs"]

[grpc]
  address = {_toml(socket)}
"""


def cni(node: Node) -> str:
    """CNI configuration. `ptp` routes between a node's pods; with a bridge, Service traffic would bypass its rules."""
    ipam = {
        "type": "host-local",
        "dataDir": str(node.ipam),
        "ranges": [[{"subnet": node.pod_cidr}]],
        "routes": [{"dst": "0.0.0.0/0"}],
    }
    plugins = [
        {"type": "ptp", "ipMasq": False, "ipam": ipam},
        {"type": "portmap", "capabilities": {"portMappings": True}, "snat": True},
    ]
    return json.dumps({"cniVersion": "1.0.0", "name": "pods", "plugins": plugins}, indent=2) + "\n"


def kubelet(pki: Path, node: Node, machine: Machine) -> str:
    document = {
        "apiVersion": "kubelet.config.k8s.io/v1beta1",
        "kind": "KubeletConfiguration",
        "address": node.address,
        "healthzBindAddress": "127.0.0.1",
        "authentication": {
            "anonymous": {"enabled": False},
            "webhook": {"enabled": True},
            "x509": {"clientCAFile": f"{pki}/ca.crt"},
        },
        "authorization": {"mode": "Webhook"},
        "tlsCertFile": f"{pki}/{node.name}-serving.crt",
        "tlsPrivateKeyFile": f"{pki}/{node.name}-serving.key",
        "cgroupDriver": "cgroupfs",
        "cgroupRoot": f"/{node.cgroup}",
        "failCgroupV1": False,
        "failSwapOn": False,
        "containerRuntimeEndpoint": f"unix://{node.containerd_socket}",
        "clusterDNS": [config.DNS_SERVICE],
        "clusterDomain": config.CLUSTER_DOMAIN,
        "resolvConf": str(machine.resolv_conf),
        # In a shared directory, kubelets would delete each other's logs.
        "podLogsDir": str(node.pod_logs),
        "volumePluginDir": str(node.kubelet_root / "volume-plugins"),
        # 100 disables the removal of images, as no registry could provide them again.
        "imageGCHighThresholdPercent": 100,
        "imageGCLowThresholdPercent": 99,
        "evictionHard": {"memory.available": "100Mi", "nodefs.available": "1Gi", "imagefs.available": "1Gi"},
        "maxPods": 250,
        "serializeImagePulls": False,
        "containerLogMaxSize": "20Mi",
        "containerLogMaxFiles": 3,
        "registerNode": True,
        "nodeStatusReportFrequency": "1m",
        "enableProfilingHandler": False,
        "logging": {"verbosity": 1},
    }
    return json.dumps(document, indent=2) + "\n"


def kube_proxy(pki: Path, node: Node) -> str:
    document = {
        "apiVersion": "kubeproxy.config.k8s.io/v1alpha1",
        "kind": "KubeProxyConfiguration",
        "clientConnection": {"kubeconfig": f"{pki}/kube-proxy.kubeconfig"},
        "hostnameOverride": node.name,
        "mode": "nftables",
        # Service traffic from outside (the machine itself) is masqueraded, so that replies take the same way back.
        "clusterCIDR": config.POD_NETWORK,
        "detectLocalMode": "ClusterCIDR",
        "healthzBindAddress": "127.0.0.1:10256",
        "metricsBindAddress": "127.0.0.1:10249",
        "nodePortAddresses": [config.NODE_NETWORK],
        # The limits of connection tracking belong to the machine and are not changed.
        "conntrack": {"maxPerCore": 0, "min": 0},
    }
    return json.dumps(document, indent=2) + "\n"


def labels(node: Node) -> dict[str, str]:
    """Labels by which OpenStack's charts select nodes; all nodes share the control plane."""
    names = ["openstack-control-plane", "openstack-compute-node", "openvswitch", "openstack-gateway"]
    return dict.fromkeys(names, "enabled")


def _toml(value: Path | bool) -> str:
    return str(value).lower() if isinstance(value, bool) else f'"{value}"'
