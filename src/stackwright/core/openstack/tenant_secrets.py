"""Secrets that objects of tenants name: credentials of a cloud, and user data. Pure.

The operator may read Secrets that the creator of such an object may not read, and sends their content to a cloud that
the tenant chooses. So it uses no Secret that a service of Stackwright made, and of Cluster API only bootstrap data.
"""

from __future__ import annotations

from collections.abc import Iterator

from stackwright.api.meta import LCM, OURS
from stackwright.core.objects import MANAGED, OWNER, label
from stackwright.core.plan import Key, Object

# Of Cluster API; providers of bootstrap data, which are for machines, have another group.
CLUSTER_API = ("cluster.x-k8s.io", "controlplane.cluster.x-k8s.io")
BOOTSTRAP, DATA = "bootstrap.cluster.x-k8s.io", "value"  # the key of bootstrap data, by Cluster API's contract
CLUSTER_NAME, TYPE = "cluster.x-k8s.io/cluster-name", "cluster.x-k8s.io/secret"


def refusal(secret: Object | None, key: Key) -> str:
    """Why tenants may not use a Secret; empty if they may, or if it does not exist."""
    owner = _owner(secret) if secret else ""
    return f"Secret {'/'.join(key)} belongs to {owner}; name one of your own" if owner else ""


def _owner(secret: Object) -> str:
    for group, each in _owners(secret):
        if group in CLUSTER_API or any(group == ours or group.endswith(f".{ours}") for ours in (LCM, OURS)):
            return f"{each.get('kind')} {each.get('name')}"
    if (label(secret, CLUSTER_NAME) or secret.get("type") == TYPE) and not _is_bootstrap_data(secret):
        return f"Cluster {label(secret, CLUSTER_NAME) or 'API'}"
    if owner := label(secret, OWNER):
        return owner.replace(".", " ", 1)
    return "the operator" if any(label(secret, name) == value for name, value in MANAGED.items()) else ""


def _is_bootstrap_data(secret: Object) -> bool:
    """Such a provider may also own keys of certificate authorities, which have no such key."""
    return DATA in (secret.get("data") or {}) and any(group == BOOTSTRAP for group, _ in _owners(secret))


def _owners(secret: Object) -> Iterator[tuple[str, Object]]:
    """(API group, owner reference) pairs."""
    for each in (secret.get("metadata") or {}).get("ownerReferences") or ():
        yield str(each.get("apiVersion", "")).rpartition("/")[0], each
