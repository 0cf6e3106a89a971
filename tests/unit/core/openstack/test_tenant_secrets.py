"""Secrets that a tenant may not have sent to a cloud."""

from __future__ import annotations

from typing import Any

import pytest

from stackwright.core.objects import MANAGED, OWNER
from stackwright.core.openstack.tenant_secrets import refusal

KEY = ("ns", "s")


CLUSTER = {"cluster.x-k8s.io/cluster-name": "c"}
BOOTSTRAP = ("bootstrap.cluster.x-k8s.io", "KubeadmConfig")
USER_DATA = {"type": "cluster.x-k8s.io/secret", "data": {"value": "eA==", "format": "eA=="}}


def secret(group: str = "", kind: str = "Thing", *, controller: bool = True, **meta: Any) -> dict[str, Any]:
    owner = {"apiVersion": f"{group}/v1", "kind": kind, "name": "o", "controller": controller}
    return {"metadata": {"namespace": "ns", "name": "s", "ownerReferences": [owner] if group else [], **meta}}


@pytest.mark.parametrize(
    ("found", "owner"),
    [
        (secret("lcm.mirantis.com", "Keystone"), "Keystone o"),
        (secret("services.stackwright.dev", "DatabaseAccount"), "DatabaseAccount o"),
        (secret("controlplane.cluster.x-k8s.io", "KubeadmControlPlane"), "KubeadmControlPlane o"),
        (secret("cluster.x-k8s.io", "Cluster"), "Cluster o"),
        (secret("cluster.x-k8s.io", "Cluster", controller=False), "Cluster o"),
        (secret("etcdcluster.cluster.x-k8s.io", "Etcd", name="c-etcd", labels=CLUSTER), "Cluster c"),
        (secret(name="c-kubeconfig", labels=CLUSTER), "Cluster c"),
        (secret(name="c-apiserver-etcd-client", labels=CLUSTER), "Cluster c"),
        (secret(name="c-of-a-later-version", labels=CLUSTER), "Cluster c"),
        ({**secret(name="d-kubeconfig"), "type": "cluster.x-k8s.io/secret"}, "Cluster API"),
        ({**secret(name="c-machine-1", labels=CLUSTER), "type": "cluster.x-k8s.io/secret"}, "Cluster c"),
        # Without a control plane provider, the first KubeadmConfig makes the keys of the certificate authorities.
        ({**secret(*BOOTSTRAP, name="c-ca", labels=CLUSTER), "data": {"tls.key": "eA=="}}, "Cluster c"),
        (secret(labels={OWNER: "keystone.cloud"}), "keystone cloud"),
        (secret(labels={OWNER: "keystone.a.b"}), "keystone a.b"),
        (secret(labels=MANAGED), "the operator"),
    ],
)
def test_secrets_of_services_and_of_control_planes_are_refused(found: Any, owner: str) -> None:
    assert refusal(found, KEY) == f"Secret ns/s belongs to {owner}; name one of your own"


@pytest.mark.parametrize(
    "found",
    [
        None,
        secret(),
        secret("external-secrets.io", "ExternalSecret"),
        {**secret(*BOOTSTRAP, name="c-machine-1", labels=CLUSTER), **USER_DATA},
        {**secret("bootstrap.cluster.x-k8s.io", "RKE2Config", name="c-1", labels=CLUSTER), **USER_DATA},
        secret("evilstackwright.dev"),
        secret(labels={"app.kubernetes.io/managed-by": "Helm"}),
        secret(name="d-kubeconfig"),
        secret(name="kubeconfig"),
        secret(name="ca"),
    ],
)
def test_other_secrets_may_be_used(found: Any) -> None:
    assert refusal(found, KEY) == ""
