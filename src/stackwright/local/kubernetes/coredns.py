"""Manifests of CoreDNS, each with the API path at which it is applied. Pure."""

from __future__ import annotations

from typing import Any

from stackwright.local import config

Manifest = dict[str, Any]
NAMESPACE = "kube-system"
APP = {"k8s-app": "kube-dns"}


def corefile(upstream: bool) -> str:
    """Configuration of CoreDNS; without an upstream server it resolves only the cluster's own names."""
    forward = "\n    forward . /etc/resolv.conf" if upstream else ""
    return f""".:53 {{
    errors
    health {{
        lameduck 2s
    }}
    ready
    kubernetes {config.CLUSTER_DOMAIN} in-addr.arpa ip6.arpa {{
        pods insecure
        fallthrough in-addr.arpa ip6.arpa
        ttl 5
    }}{forward}
    cache 30 {{
        disable success {config.CLUSTER_DOMAIN}
        disable denial {config.CLUSTER_DOMAIN}
    }}
    loop
    reload
}}
"""


def manifests(image: str, replicas: int, upstream: bool) -> list[tuple[str, Manifest]]:
    core, rbac = f"/api/v1/namespaces/{NAMESPACE}", "/apis/rbac.authorization.k8s.io/v1"
    return [
        (f"{core}/serviceaccounts/coredns", _object("v1", "ServiceAccount")),
        (f"{rbac}/clusterroles/system:coredns", _role()),
        (f"{rbac}/clusterrolebindings/system:coredns", _binding()),
        (f"{core}/configmaps/coredns", _object("v1", "ConfigMap", data={"Corefile": corefile(upstream)})),
        (f"{core}/services/kube-dns", _service()),
        (f"/apis/apps/v1/namespaces/{NAMESPACE}/deployments/coredns", _deployment(image, replicas)),
    ]


def _object(version: str, kind: str, name: str = "coredns", **fields: Any) -> Manifest:
    metadata = {"name": name, "labels": {**APP, "app.kubernetes.io/managed-by": "stackwright"}}
    if not kind.startswith("Cluster"):
        metadata["namespace"] = NAMESPACE
    return {"apiVersion": version, "kind": kind, "metadata": metadata, **fields}


def _role() -> Manifest:
    rules = [
        {"apiGroups": [""], "resources": ["endpoints", "services", "pods", "namespaces"], "verbs": ["list", "watch"]},
        {"apiGroups": ["discovery.k8s.io"], "resources": ["endpointslices"], "verbs": ["list", "watch"]},
    ]
    return _object("rbac.authorization.k8s.io/v1", "ClusterRole", "system:coredns", rules=rules)


def _binding() -> Manifest:
    return _object(
        "rbac.authorization.k8s.io/v1",
        "ClusterRoleBinding",
        "system:coredns",
        roleRef={"apiGroup": "rbac.authorization.k8s.io", "kind": "ClusterRole", "name": "system:coredns"},
        subjects=[{"kind": "ServiceAccount", "name": "coredns", "namespace": NAMESPACE}],
    )


def _service() -> Manifest:
    ports = [
        {"name": "dns", "port": 53, "protocol": "UDP", "targetPort": 53},
        {"name": "dns-tcp", "port": 53, "protocol": "TCP", "targetPort": 53},
    ]
    return _object("v1", "Service", "kube-dns", spec={"selector": APP, "clusterIP": config.DNS_SERVICE, "ports": ports})


def _deployment(image: str, replicas: int) -> Manifest:
    template = {"metadata": {"labels": APP}, "spec": _pod(image)}
    rolling = {"type": "RollingUpdate", "rollingUpdate": {"maxUnavailable": 0, "maxSurge": 1}}
    spec = {"replicas": replicas, "selector": {"matchLabels": APP}, "template": template, "strategy": rolling}
    return _object("apps/v1", "Deployment", spec=spec)


def _pod(image: str) -> Manifest:
    security = {
        "allowPrivilegeEscalation": False,
        "readOnlyRootFilesystem": True,
        "capabilities": {"add": ["NET_BIND_SERVICE"], "drop": ["ALL"]},
    }
    container = {
        "name": "coredns",
        "image": image,
        "imagePullPolicy": "IfNotPresent",
        "args": ["-conf", "/etc/coredns/Corefile"],
        "ports": [{"containerPort": 53, "name": "dns", "protocol": "UDP"}],
        "resources": {"requests": {"cpu": "50m", "memory": "64Mi"}, "limits": {"memory": "256Mi"}},
        "volumeMounts": [{"name": "config", "mountPath": "/etc/coredns", "readOnly": True}],
        "securityContext": security,
        "livenessProbe": {"httpGet": {"path": "/health", "port": 8080}, "periodSeconds": 10, "failureThreshold": 5},
        "readinessProbe": {"httpGet": {"path": "/ready", "port": 8181}, "periodSeconds": 1},
    }
    return {
        "serviceAccountName": "coredns",
        "priorityClassName": "system-cluster-critical",
        "dnsPolicy": "Default",
        "tolerations": [{"operator": "Exists"}],
        "containers": [container],
        "volumes": [{"name": "config", "configMap": {"name": "coredns"}}],
    }
