"""The number of voting servers is never reduced: the API server itself refuses it, also while the operator is down."""

from __future__ import annotations

import uuid
from typing import Any

import pytest

from stackwright.adapters.kubernetes.client import KubernetesCluster
from stackwright.api.kinds import NAMESPACE
from stackwright.api.meta import Kind
from stackwright.cloud.controlplane import OpenStackControlPlane
from stackwright.cloud.deployment import OpenStackDeployment
from stackwright.core.errors import TerminalError
from stackwright.services.ceph.kind import Ceph
from stackwright.services.etcd.kind import Etcd
from stackwright.services.keystone.kind import Keystone
from stackwright.services.mariadb.kind import MariaDB

CLOUD = {"openstack_version": "epoxy", "preset": "core"}
PLANE = {"storageClass": "", "secret": "s"}


def galera(**fields: Any) -> dict[str, Any]:
    return {**PLANE, "galera": {"templates": {"openstack": fields}}}


@pytest.mark.parametrize(
    ("kind", "first", "refused", "allowed"),
    [
        *(
            (kind, {**more, "size": "small"}, {**more, "size": "single"}, {**more, "size": "tiny"})
            for kind, more in ((OpenStackDeployment.KIND, CLOUD), (MariaDB.KIND, {}), (Etcd.KIND, {}), (Ceph.KIND, {}))
        ),
        (MariaDB.KIND, {"size": "tiny"}, {}, {"size": "medium"}),
        (Keystone.KIND, {"size": "tiny"}, None, {"size": "single"}),
        (OpenStackDeployment.KIND, {**CLOUD, "size": "single"}, None, {**CLOUD, "size": "tiny"}),
        (OpenStackControlPlane.KIND, galera(replicas=3), galera(replicas=1), PLANE),
        (OpenStackControlPlane.KIND, galera(replicas=3), galera(secret="root"), PLANE),
        (OpenStackControlPlane.KIND, galera(replicas=1), None, galera(replicas=3)),
    ],
)
async def test_the_api_refuses_fewer_servers_that_vote(
    cluster: KubernetesCluster, kind: Kind, first: Any, refused: Any, allowed: Any
) -> None:
    space = f"majority-{uuid.uuid4().hex[:8]}"
    await cluster.apply(NAMESPACE, {"metadata": {"name": space}}, "test")

    async def write(spec: Any) -> Any:
        await cluster.apply(kind, {"metadata": {"namespace": space, "name": "x"}, "spec": spec}, "test")

    await write(first)
    if refused is not None:
        with pytest.raises(TerminalError, match="one server of three has no majority; allowed: "):
            await write(refused)
    await write(allowed)
    await cluster.delete(NAMESPACE, ("", space))
