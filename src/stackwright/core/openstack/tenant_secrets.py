"""Secrets that objects of tenants name: credentials of a cloud, and user data. Pure.

The operator may read Secrets that the creator of such an object may not read, and sends their content to a cloud that
the tenant chooses. So it uses no Secret that a service of Stackwright, or Cluster API's control plane, made.
"""

from __future__ import annotations

from stackwright.api.meta import LCM, OURS
from stackwright.core.objects import MANAGED, OWNER, label
from stackwright.core.plan import Key, Object

# Those of Cluster API: kubeconfigs and keys of certificate authorities. Bootstrap data belong to another group.
CLUSTER_API = ("cluster.x-k8s.io", "controlplane.cluster.x-k8s.io")
CLUSTER_NAME, TYPE = "cluster.x-k8s.io/cluster-name", "cluster.x-k8s.io/secret"
PURPOSES = ("kubeconfig", "ca", "etcd", "sa", "proxy")  # of Secrets whose owner depends on the control plane provider


def refusal(secret: Object | None, key: Key) -> str:
    """Why tenants may not use a Secret; empty if they may, or if it does not exist."""
    owner = _owner(secret) if secret else ""
    return f"Secret {'/'.join(key)} belongs to {owner}; name one of your own" if owner else ""


def _owner(secret: Object) -> str:
    for each in (secret.get("metadata") or {}).get("ownerReferences") or ():
        group, _, _ = str(each.get("apiVersion", "")).rpartition("/")
        if group in CLUSTER_API or any(group == ours or group.endswith(f".{ours}") for ours in (LCM, OURS)):
            return f"{each.get('kind')} {each.get('name')}"
    cluster, _, purpose = str((secret.get("metadata") or {}).get("name", "")).rpartition("-")
    if cluster and purpose in PURPOSES and (label(secret, CLUSTER_NAME) == cluster or secret.get("type") == TYPE):
        return f"Cluster {cluster}"
    if owner := label(secret, OWNER):
        return owner.replace(".", " ", 1)
    return "the operator" if any(label(secret, name) == value for name, value in MANAGED.items()) else ""
