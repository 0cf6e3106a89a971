"""Command lines of the control plane's programs. Pure: paths in, argument lists out.

`local/steps/` starts them under the supervisor, tests/support/control_plane.py as children of a test. Both use these
functions, so that a test runs with the flags of a real cluster.
"""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path

from stackwright.local import config
from stackwright.local.config import Node


@dataclass(frozen=True)
class Endpoints:
    """Addresses and ports of etcd and the API server."""

    api_address: str = config.MACHINE_ADDRESS
    api_port: int = config.API_PORT
    etcd_port: int = config.ETCD_PORT
    etcd_peer_port: int = config.ETCD_PORT + 1

    @property
    def api_url(self) -> str:
        return f"https://{self.api_address}:{self.api_port}"

    @property
    def etcd_url(self) -> str:
        return f"https://127.0.0.1:{self.etcd_port}"


def etcd(pki: Path, data: Path, where: Endpoints) -> list[str]:
    """Durable etcd, with fsync. It has a peer address, on loopback, only because etcd requires one."""
    peer = f"https://127.0.0.1:{where.etcd_peer_port}"
    return [
        "etcd",
        "--name=stackwright",
        f"--data-dir={data}",
        f"--listen-client-urls={where.etcd_url}",
        f"--advertise-client-urls={where.etcd_url}",
        f"--listen-peer-urls={peer}",
        f"--initial-advertise-peer-urls={peer}",
        f"--initial-cluster=stackwright={peer}",
        f"--cert-file={pki}/etcd.crt",
        f"--key-file={pki}/etcd.key",
        "--client-cert-auth=true",
        f"--trusted-ca-file={pki}/ca.crt",
        f"--peer-cert-file={pki}/etcd.crt",
        f"--peer-key-file={pki}/etcd.key",
        "--peer-client-cert-auth=true",
        f"--peer-trusted-ca-file={pki}/ca.crt",
        "--auto-compaction-mode=periodic",
        "--auto-compaction-retention=1h",
        "--quota-backend-bytes=4294967296",
        "--snapshot-count=10000",
        "--log-level=warn",
    ]


def apiserver(pki: Path, where: Endpoints) -> list[str]:
    return [
        "kube-apiserver",
        f"--bind-address={where.api_address}",
        f"--secure-port={where.api_port}",
        f"--advertise-address={where.api_address}",
        f"--etcd-servers={where.etcd_url}",
        f"--etcd-cafile={pki}/ca.crt",
        f"--etcd-certfile={pki}/etcd-client.crt",
        f"--etcd-keyfile={pki}/etcd-client.key",
        f"--tls-cert-file={pki}/apiserver.crt",
        f"--tls-private-key-file={pki}/apiserver.key",
        f"--client-ca-file={pki}/ca.crt",
        "--authorization-mode=Node,RBAC",
        "--enable-admission-plugins=NodeRestriction",
        f"--encryption-provider-config={pki}/encryption.yaml",
        f"--kubelet-certificate-authority={pki}/ca.crt",
        f"--kubelet-client-certificate={pki}/apiserver-kubelet-client.crt",
        f"--kubelet-client-key={pki}/apiserver-kubelet-client.key",
        # No DNS has the names of nodes.
        "--kubelet-preferred-address-types=InternalIP",
        f"--requestheader-client-ca-file={pki}/front-proxy-ca.crt",
        "--requestheader-allowed-names=front-proxy-client",
        "--requestheader-extra-headers-prefix=X-Remote-Extra-",
        "--requestheader-group-headers=X-Remote-Group",
        "--requestheader-username-headers=X-Remote-User",
        f"--proxy-client-cert-file={pki}/front-proxy-client.crt",
        f"--proxy-client-key-file={pki}/front-proxy-client.key",
        # The API server runs outside the nodes: it reaches webhooks by pod address, not by Service address.
        "--enable-aggregator-routing=true",
        f"--service-account-issuer=https://kubernetes.default.svc.{config.CLUSTER_DOMAIN}",
        f"--service-account-key-file={pki}/service-account.pub",
        f"--service-account-signing-key-file={pki}/service-account.key",
        f"--service-cluster-ip-range={config.SERVICE_NETWORK}",
        # Otherwise it waits a minute for its own watches before it ends.
        "--shutdown-watch-termination-grace-period=1s",
        "--allow-privileged=true",
        "--profiling=false",
    ]


def audit(policy: Path, log: Path) -> list[str]:
    """Flags of the audit log: metadata only, because bodies hold secrets; at most 300 MB."""
    return [
        f"--audit-policy-file={policy}",
        f"--audit-log-path={log}",
        "--audit-log-maxsize=50",
        "--audit-log-maxbackup=5",
        "--audit-log-maxage=30",
    ]


def controller_manager(pki: Path) -> list[str]:
    return [
        *_client(pki, "controller-manager", config.CONTROLLER_MANAGER_PORT),
        f"--cluster-signing-cert-file={pki}/ca.crt",
        f"--cluster-signing-key-file={pki}/ca.key",
        f"--root-ca-file={pki}/ca.crt",
        f"--service-account-private-key-file={pki}/service-account.key",
        "--use-service-account-credentials=true",
        f"--cluster-cidr={config.POD_NETWORK}",
        f"--service-cluster-ip-range={config.SERVICE_NETWORK}",
        # The range of each node is in its CNI configuration.
        "--allocate-node-cidrs=false",
        # With the default of 20 requests per second, the start of forty controllers takes seconds longer.
        "--kube-api-qps=100",
        "--kube-api-burst=200",
    ]


def scheduler(pki: Path) -> list[str]:
    return _client(pki, "scheduler", config.SCHEDULER_PORT)


def _client(pki: Path, name: str, port: int) -> list[str]:
    """Program and flags of a client of the API server."""
    kubeconfig = f"{pki}/{name}.kubeconfig"
    return [
        f"kube-{name}",
        f"--kubeconfig={kubeconfig}",
        f"--authentication-kubeconfig={kubeconfig}",
        f"--authorization-kubeconfig={kubeconfig}",
        "--bind-address=127.0.0.1",
        f"--secure-port={port}",
        *_loopback_tls(pki),
        # Only one instance exists; a leader election after a crash would take 15 s.
        "--leader-elect=false",
        "--profiling=false",
    ]


def _loopback_tls(pki: Path) -> list[str]:
    return [f"--tls-cert-file={pki}/loopback.crt", f"--tls-private-key-file={pki}/loopback.key"]


def kubelet(pki: Path, node: Node) -> list[str]:
    return [
        "kubelet",
        f"--config={node.kubelet_config}",
        f"--kubeconfig={pki}/{node.name}-client.kubeconfig",
        f"--hostname-override={node.name}",
        f"--node-ip={node.address}",
        f"--root-dir={node.kubelet_root}",
        f"--cert-dir={node.kubelet_root}/pki",
    ]


def kube_proxy(config_file: Path) -> list[str]:
    return ["kube-proxy", f"--config={config_file}"]


def containerd(config_file: Path) -> list[str]:
    return ["containerd", f"--config={config_file}"]


def uplink(namespace: Path) -> list[str]:
    """Forward outgoing traffic of a network namespace over sockets of a process, so that the machine forwards nothing.

    It runs in its own mount namespace: if mounts were shared, its sandbox would unmount those of the machine.
    """
    return [
        "unshare",
        "--mount",
        "--propagation=private",
        "--",
        "slirp4netns",
        "--configure",
        f"--cidr={config.UPLINK_NETWORK}",
        "--mtu=1500",
        # Pods reach the machine at its address in the node network, and query its name servers directly.
        "--disable-host-loopback",
        "--disable-dns",
        "--enable-sandbox",
        "--netns-type=path",
        str(namespace),
        config.UPLINK,
    ]


AUDIT_POLICY = """\
apiVersion: audit.k8s.io/v1
kind: Policy
omitStages: [RequestReceived]
rules:
# Reads and heartbeats of the cluster's own parts would drown what people and operators do.
- level: None
  verbs: [get, list, watch]
- level: None
  resources: [{group: coordination.k8s.io, resources: [leases]}]
- level: None
  resources: [{group: "", resources: [events]}, {group: events.k8s.io, resources: [events]}]
- level: Metadata
"""
