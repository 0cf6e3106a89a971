"""Which namespaces may use an OpenStackClusterIdentity."""

from __future__ import annotations

from typing import Any

import pytest

from stackwright.api.infra.identity import OpenStackClusterIdentity
from stackwright.api.kinds import NAMESPACE
from stackwright.controllers.infra.credentials import cloud_of
from stackwright.core.openstack.errors import Reason, TerminalCloudError, TransientCloudError
from stackwright.runtime.memory import FrozenClock, MemoryCluster

REF = {"type": "ClusterIdentity", "name": "shared", "cloudName": "c"}
ABSENT = {"matchExpressions": [{"key": "untrusted", "operator": "DoesNotExist"}]}


def cluster(labels: dict[str, str] | None, selector: dict[str, Any]) -> MemoryCluster:
    """With a namespace `ns` of these labels; None: without it."""
    made = MemoryCluster(clock=FrozenClock(0.0))
    spec = {"secretRef": {"namespace": "admin", "name": "clouds"}, "namespaceSelector": selector}
    made.put(OpenStackClusterIdentity.KIND, {"metadata": {"name": "shared"}, "spec": spec})
    if labels is not None:
        made.put(NAMESPACE, {"metadata": {"name": "ns", "labels": labels}})
    return made


async def test_a_selector_for_absent_labels_matches_no_absent_namespace() -> None:
    assert (await cloud_of(cluster({}, ABSENT), "ns", REF)).granted
    with pytest.raises(TransientCloudError) as error:
        await cloud_of(cluster(None, ABSENT), "ns", REF)
    assert error.value.cause is Reason.NOT_FOUND
    with pytest.raises(TerminalCloudError, match="may not use"):
        await cloud_of(cluster({"untrusted": ""}, ABSENT), "ns", REF)
