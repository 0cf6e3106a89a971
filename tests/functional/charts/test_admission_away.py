"""While the operator is not running, its webhook admits no invalid object, and deletions still complete."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator
from typing import Any

import pytest
import pytest_asyncio

from stackwright.adapters.kubernetes.client import KubernetesCluster
from stackwright.api.kinds import NAMESPACE
from stackwright.api.meta import Kind
from stackwright.api.services.helmbundle import HelmBundle
from stackwright.cloud.deployment import OpenStackDeployment
from stackwright.cloud.registry import ADMITTED
from stackwright.core.errors import Conflict, TerminalError, TransientError
from stackwright.core.plan import Key, Object
from stackwright.runtime.webhook.certificate import CONFIGURATION
from tests.functional.charts.test_protection import rendered

SPACE, FINALIZER, NEVER = "away", "test.stackwright.dev/hold", "2030-01-01T00:00:00Z"
SPECS: dict[Kind, Object] = {
    OpenStackDeployment.KIND: {"openstack_version": "epoxy", "preset": "core", "size": "single", "draft": True},
    HelmBundle.KIND: {"releases": [{"name": "x", "chart": "stackwright/memcached"}]},
}
"""One kind of each webhook."""


def configuration() -> Object:
    (found,) = (obj for obj in rendered("webhook") if obj["kind"] == CONFIGURATION.kind)
    return dict(found)


@pytest_asyncio.fixture
async def away(cluster: KubernetesCluster) -> AsyncIterator[KubernetesCluster]:
    """For each kind, an existing object and one in deletion; then the webhook, which does not respond."""
    await cluster.apply(NAMESPACE, {"metadata": {"name": SPACE}}, "test")
    for kind in SPECS:
        for name in ("alive", "going"):
            await write(cluster, kind, name)
        await cluster.delete(kind, (SPACE, "going"))
    found = configuration()
    for hook in found["webhooks"]:
        hook["clientConfig"] = {"url": "https://127.0.0.1:1/validate"}  # this address has no server
    await cluster.apply(CONFIGURATION, found, "test")
    async with asyncio.timeout(30):  # the API server loads a configuration after a short delay
        for number, kind in enumerate(SPECS):
            while not await refused(cluster, kind, (SPACE, "alive"), {"metadata": {"labels": {"n": str(number)}}}):
                number += 1
                await asyncio.sleep(0.2)
    yield cluster
    await cluster.delete(CONFIGURATION, ("", found["metadata"]["name"]))
    async with asyncio.timeout(30):
        for kind in SPECS:
            for obj in await cluster.list(kind, SPACE):
                key = (SPACE, obj["metadata"]["name"])
                while await refused(cluster, kind, key, {"metadata": {"finalizers": []}}):
                    await asyncio.sleep(0.2)
                await cluster.delete(kind, key)


async def write(cluster: KubernetesCluster, kind: Kind, name: str, **meta: Any) -> None:
    metadata = {"name": name, "namespace": SPACE, "finalizers": [FINALIZER], **meta}
    await cluster.apply(kind, {"metadata": metadata, "spec": SPECS[kind]}, "test")


async def refused(cluster: KubernetesCluster, kind: Kind, key: Key, patch: Object) -> bool:
    """Whether the API server refuses the change because the webhook does not respond."""
    try:
        await cluster.patch(kind, key, patch)
    except (TerminalError, TransientError, Conflict) as error:
        assert "failed calling webhook" in str(error)
        return True
    return False


@pytest.mark.parametrize("kind", SPECS, ids=lambda kind: kind.kind)
async def test_an_object_in_deletion_ends_without_the_operator(away: KubernetesCluster, kind: Kind) -> None:
    assert not await refused(away, kind, (SPACE, "going"), {"metadata": {"annotations": {"note": "last words"}}})
    assert not await refused(away, kind, (SPACE, "going"), {"metadata": {"finalizers": []}})
    assert await away.get(kind, (SPACE, "going")) is None


@pytest.mark.parametrize(
    ("kind", "spec"),
    [
        (OpenStackDeployment.KIND, {"size": "small"}),
        (HelmBundle.KIND, {"releases": [{"name": "keystone", "chart": "memcached", "namespace": "victim"}]}),
    ],
)
async def test_an_object_in_deletion_cannot_request_anything_new(
    away: KubernetesCluster, kind: Kind, spec: Object
) -> None:
    assert await refused(away, kind, (SPACE, "going"), {"spec": spec})
    assert not await refused(away, kind, (SPACE, "going"), {"metadata": {"annotations": {"note": "same spec"}}})


@pytest.mark.parametrize("kind", SPECS, ids=lambda kind: kind.kind)
async def test_a_client_cannot_set_a_deletion_timestamp(away: KubernetesCluster, kind: Kind) -> None:
    """Tests a new object and an existing one."""
    with pytest.raises((TerminalError, TransientError), match="failed calling webhook"):
        await write(away, kind, "new", deletionTimestamp=NEVER)
    claim = {"metadata": {"deletionTimestamp": NEVER, "annotations": {"note": "changed"}}}
    try:
        assert await refused(away, kind, (SPACE, "alive"), claim)
    except AssertionError as error:
        assert "immutable" in str(error)  # the API server's own rejection, which has precedence
    left = await away.get(kind, (SPACE, "alive"))
    assert left and "deletionTimestamp" not in left["metadata"]
    assert "annotations" not in left["metadata"]


def test_each_webhook_admits_the_end_of_a_deletion() -> None:
    """The webhooks together cover all admitted kinds."""
    hooks = configuration()["webhooks"]
    assert all("not-deleting" in [condition["name"] for condition in hook["matchConditions"]] for hook in hooks)
    named = {(rule["apiGroups"][0], plural) for hook in hooks for rule in hook["rules"] for plural in rule["resources"]}
    assert named == {(resource.KIND.group, resource.KIND.plural) for resource in ADMITTED}
