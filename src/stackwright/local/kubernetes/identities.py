"""Identities in the cluster: the list of certificates, as data, and kubeconfigs with them."""

from __future__ import annotations

import json
from pathlib import Path

from stackwright.local.config import CLUSTER_DOMAIN, KUBERNETES_SERVICE, MACHINE_ADDRESS, LocalCluster, Node
from stackwright.local.kubernetes.pki import Identity

API_NAMES = (
    "kubernetes",
    "kubernetes.default",
    "kubernetes.default.svc",
    f"kubernetes.default.svc.{CLUSTER_DOMAIN}",
    "localhost",
)
AUTHORITIES = ("ca", "front-proxy-ca")
ADMIN = Identity("admin", "stackwright-admin", "system:masters")
CONTROLLER_MANAGER = Identity("controller-manager", "system:kube-controller-manager")
SCHEDULER = Identity("scheduler", "system:kube-scheduler")
KUBE_PROXY = Identity("kube-proxy", "system:kube-proxy")


def etcd_and_apiserver(*api_addresses: str) -> list[Identity]:
    """Identities that every API server with its etcd needs."""
    return [
        Identity("etcd", "etcd", hosts=("localhost", "127.0.0.1")),
        Identity("etcd-client", "kube-apiserver-etcd-client"),
        Identity("apiserver", "kube-apiserver", hosts=(*API_NAMES, KUBERNETES_SERVICE, "127.0.0.1", *api_addresses)),
        Identity("apiserver-kubelet-client", "kube-apiserver-kubelet-client", "system:masters"),
        Identity("front-proxy-client", "front-proxy-client", authority="front-proxy-ca"),
        ADMIN,
    ]


def control_plane() -> list[Identity]:
    loopback = Identity("loopback", "stackwright-loopback", hosts=("localhost", "127.0.0.1"))
    return [*etcd_and_apiserver(MACHINE_ADDRESS), loopback, CONTROLLER_MANAGER, SCHEDULER, KUBE_PROXY]


def of_node(node: Node) -> list[Identity]:
    return [
        Identity(f"{node.name}-client", f"system:node:{node.name}", "system:nodes"),
        Identity(f"{node.name}-serving", f"system:node:{node.name}", hosts=(node.name, node.address)),
    ]


def kubeconfig_path(cluster: LocalCluster, identity: Identity) -> Path:
    return cluster.pki / f"{identity.file}.kubeconfig"


def kubeconfig(pki: Path, identity: Identity, server: str) -> str:
    """A kubeconfig that refers to certificate files, for the cluster's own programs."""
    user = {
        "client-certificate": str(pki / f"{identity.file}.crt"),
        "client-key": str(pki / f"{identity.file}.key"),
    }
    return _kubeconfig(server, {"certificate-authority": str(pki / "ca.crt")}, user, identity.name)


def portable_kubeconfig(pki: Path, identity: Identity, server: str) -> str:
    """A self-contained kubeconfig for users, which can be copied elsewhere."""
    import base64

    def inline(name: str) -> str:
        return base64.b64encode((pki / name).read_bytes()).decode()

    user = {
        "client-certificate-data": inline(f"{identity.file}.crt"),
        "client-key-data": inline(f"{identity.file}.key"),
    }
    return _kubeconfig(server, {"certificate-authority-data": inline("ca.crt")}, user, identity.name)


def _kubeconfig(server: str, authority: dict[str, str], user: dict[str, str], name: str) -> str:
    # JSON is valid YAML and needs no library.
    document = {
        "apiVersion": "v1",
        "kind": "Config",
        "clusters": [{"name": "stackwright", "cluster": {"server": server, **authority}}],
        "users": [{"name": name, "user": user}],
        "contexts": [{"name": "stackwright", "context": {"cluster": "stackwright", "user": name}}],
        "current-context": "stackwright",
    }
    return json.dumps(document, indent=2) + "\n"
